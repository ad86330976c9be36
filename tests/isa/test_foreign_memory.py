# SPDX-License-Identifier: MIT
"""A kernel that is given an address of host memory, or of another device: what it says, per kind of access, with and without ASCEND_SIM_CHECK=memory."""

import re

import ascend_sim
import pytest
import torch
from ascend_sim import jit

TEXT = r"""
#include "simt_api/asc_simt.h"
constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};

template <class T>
T* at(int64_t address) { return reinterpret_cast<T*>(address); }

extern "C" __global__ __vector__ void scalar(__gm__ float* y, int64_t p, int how) {
    auto* ub = reinterpret_cast<float*>(ascend::isa::ub_base());
    ub[0] = 7;
    if (how == 0) y[0] = *at<volatile float>(p) + 1;                                 // @load
    if (how == 1) *at<volatile float>(p) = 7;                                        // @store
    if (how == 2) asc_copy_gm2ub_align(ub, at<float>(p), 1, 4, 0, 0, false, kLoad, 0, 0);  // @load_transfer
    if (how == 3) asc_copy_ub2gm_align(at<float>(p), ub, 1, 4, kStore, 4, 4);        // @store_transfer
    if (how == 4) y[0] = static_cast<float>(asc_load_dev(at<uint32_t>(p)));          // @load_dev
}
__simt_vf__ void one_thread(__gm__ float* y, int64_t p, int how) {
    if (threadIdx.x != 40) return;
    if (how == 0) y[0] = *at<volatile float>(p) + 1;                                 // @simt_load
    if (how == 1) *at<volatile float>(p) = 7;                                        // @simt_store
    if (how == 2) asc_atomic_add(at<float>(p), 1.0f);                                // @simt_atomic
}
extern "C" __global__ __vector__ void simt(__gm__ float* y, int64_t p, int how) {
    asc_vf_call<one_thread>(cce::dim3(64), y, p, how);
}

// All that a kernel may touch of the host: its stack and those of its threads, constants, variables, thread-local ones, what warps exchange.
static const int table[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
static int calls[64];
static thread_local int of_thread[64];
__simt_vf__ void own_of_a_thread(__ubuf__ int* out, const int* of_core) {
    const int t = threadIdx.x;
    int here[40];
    for (int k = 0; k < 40; ++k) here[k] = table[(k + t) % 64] + of_core[k];
    asc_syncthreads();
    int sum = 0;
    for (int k = 0; k < 40; ++k) sum += here[(k * 7 + t) % 40];
    of_thread[t] = sum;
    calls[t] = table[t];    // of all cores: the same value
    asc_syncthreads();
    ASC_SIMT_COST(3, 0);
    out[t] = asc_shfl_xor(calls[(t + 1) % 64] + of_thread[t % 64], 1) + "abcdefgh"[t % 8];
}
extern "C" __global__ __vector__ void own(__gm__ int* y) {
    auto* out = reinterpret_cast<__ubuf__ int*>(ascend::isa::ub_base());
    int of_core[40];
    for (int k = 0; k < 40; ++k) of_core[k] = table[k] * block_idx;
    asc_vf_call<own_of_a_thread>(cce::dim3(64), out, of_core);
    for (int k = 0; k < 64; ++k) y[block_idx * 64 + k] = out[k];
}
"""
LINES = {match[1]: number for number, line in enumerate(TEXT.splitlines(), 1) if (match := re.search(r"// @(\w+)$", line))}
PLAIN = {"scalar": {"load": "S: scalar load: ", "store": "S: scalar store: "},
         "simt": {"simt_load": r"V: SIMT load: thread \(40, 0, 0\): ", "simt_store": r"V: SIMT store: thread \(40, 0, 0\): ",
                  "simt_atomic": r"V: asc_atomic_add: thread \(40, 0, 0\): "}}
INSTRUCTIONS = {"load_transfer": "MTE2: asc_copy_gm2ub_align: source: ", "store_transfer": "MTE3: asc_copy_ub2gm_align: destination: ",
                "load_dev": "S: asc_load_dev: source: "}
HOWS = {"load": 0, "store": 1, "load_transfer": 2, "store_transfer": 3, "load_dev": 4, "simt_load": 0, "simt_store": 1, "simt_atomic": 2}
HOST = r"address {:#x} is memory of the host \(neither npu tensor nor UB\); was a tensor on cpu passed by data_ptr\(\)\?"
OTHER = r"global memory {:#x} belongs to a tensor on npu:1; the kernel runs on npu:0"
FREED = r"global memory {:#x} lies on npu:1 and belongs to no live tensor; the kernel runs on npu:0"


@pytest.fixture(scope="module")
def kernels():
    names = {"scalar": "vector", "simt": "vector", "own": "vector"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_CHECK", "memory")
        checked = jit.compile_all(TEXT, names)
    return {True: checked, False: jit.compile_all(TEXT, names)}


CASES = [(True, kernel, line, says) for kernel, lines in PLAIN.items() for line, says in lines.items()]
CASES += [(checked, "scalar", line, says) for checked in (True, False) for line, says in INSTRUCTIONS.items()]


@pytest.mark.parametrize("checked, kernel, line, says", CASES)
@pytest.mark.parametrize("whose", ["host", "other", "freed"])
def test_it_is_said_whose_memory_it_is(kernels, checked, kernel, line, says, whose):
    target = torch.full((1024,), 5.0, device="cpu" if whose == "host" else "npu:1")
    address, y = target.data_ptr() + 16, torch.zeros(4).npu()
    if whose == "freed":
        del target
    message = {"host": HOST, "other": OTHER, "freed": FREED}[whose].format(address)
    with pytest.raises(ascend_sim.LaunchError, match=f"core 0 aiv0 block 0 {says}{message}     .*:{LINES[line]}$"):
        kernels[checked][kernel][1](y, address, HOWS[line])
    if whose != "freed":
        assert target.eq(5).all()
    kernels[checked][kernel][1](y, y.data_ptr() + 8, HOWS[line])


def test_null_and_unmapped_addresses_are_not_called_the_hosts(kernels):
    for address, says in ((0x40, "null, or an offset into L1 or L0"), (0x1234567000, "neither in UB nor in global memory")):
        for kernel in ("scalar", "simt"):
            for checked in (True, False):
                with pytest.raises(ascend_sim.LaunchError, match=says):
                    kernels[checked][kernel][1](torch.zeros(4).npu(), address, 0)


def test_what_is_the_kernels_own_is_allowed(kernels):
    results = []
    for checked in (True, False):
        y = torch.zeros(70 * 64, dtype=torch.int32).npu()
        kernels[checked]["own"][70](y)
        results.append(y.cpu().view(70, 64))
    assert results[0].equal(results[1]) and results[0].ne(0).all()
