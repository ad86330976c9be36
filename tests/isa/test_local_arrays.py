# SPDX-License-Identifier: MIT
"""Do local variables of kernel text stay where they belong? An index beyond an array, an array larger than the stack, a loop that never ends."""

import re

import ascend_sim
import pytest
import torch
from ascend_sim import jit
from support.launches import time_limit

TEXT = """#include "simt_api/asc_simt.h"
template <class T> inline T element(const T (&values)[8], int64_t i) { return values[i]; }
__simt_vf__ void thread_reads(__gm__ float* out, int index) {
    float local[8];
    for (int i = 0; i < 8; ++i) local[i] = out[i];
    asc_syncthreads();
    out[threadIdx.x] = local[index + threadIdx.x];  // @threads
}
extern "C" __global__ __vector__ void threads(__gm__ float* out, int index) { asc_vf_call<thread_reads>(cce::dim3(4), out, index); }
extern "C" __global__ __vector__ void scalar(__gm__ float* out, int index) {
    int16_t local[2][8] = {};
    local[1][index] = 7;  // @scalar
    out[0] = element(local[1], index);
}
template <int kBytes>
__simt_vf__ void big(__gm__ float* out) {
    volatile uint8_t local[kBytes];
    asm volatile("" : : "r"(local) : "memory");
    local[0] = 1;
    asc_syncthreads();
    out[threadIdx.x] = local[0];
}
extern "C" __global__ __vector__ void big_48(__gm__ float* out) { asc_vf_call<big<48 * 1024>>(cce::dim3(64), out); }
extern "C" __global__ __vector__ void big_68(__gm__ float* out) { asc_vf_call<big<68 * 1024>>(cce::dim3(64), out); }
extern "C" __global__ __vector__ void big_400(__gm__ float* out) { asc_vf_call<big<400 * 1024>>(cce::dim3(64), out); }
extern "C" __global__ __vector__ void big_9000(__gm__ float* out) {
    volatile uint8_t local[9000 * 1024];
    asm volatile("" : : "r"(local) : "memory");
    local[0] = 1;
    out[0] = local[0];
}
extern "C" __global__ __vector__ void counts_for_ever(__gm__ const int* x) {
    uint32_t n = 0;
    for (int value = x[0]; value == 0;) ++n;
}
"""
SHORT_8 = r"'(short int|int16_t) ?\[8\]'"      # as gcc and clang call it
LINES = {match[1]: number for number, line in enumerate(TEXT.splitlines(), 1) if (match := re.search(r"// @(\w+)$", line))}


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(TEXT)


@pytest.fixture
def out():
    return torch.arange(8, dtype=torch.float32).npu()


def test_the_last_element_is_inside(kernels, out):
    kernels["threads"][1](out, 4)
    assert out.cpu().tolist() == [4, 5, 6, 7, 4, 5, 6, 7]
    kernels["scalar"][1](out, 7)
    assert out.cpu()[0] == 7


@pytest.mark.parametrize("index", [8, 9, 200, 2**31 - 1, -1, -9, -(2**31)])
def test_an_index_beyond_a_local_array_is_refused(kernels, out, index):
    before = out.cpu()
    with pytest.raises(ascend_sim.LaunchError, match=rf"index {index} is outside a local array, {SHORT_8}.*:{LINES['scalar']}$"):
        kernels["scalar"][1](out, index)
    assert out.cpu().equal(before)
    kernels["scalar"][1](out, 0)


def test_which_thread_it_was(kernels, out):
    with pytest.raises(ascend_sim.LaunchError, match=rf"SIMT code: thread \(3, 0, 0\): index 8 is outside a local array, 'float ?\[8\]'.*:{LINES['threads']}$"):
        kernels["threads"][1](out, 5)


@pytest.mark.parametrize("name", ["big_68", "big_400"])
def test_an_array_that_jumps_over_the_guard_page_is_refused(kernels, name):
    out = torch.zeros(64).npu()
    kernels["big_48"][1](out)
    assert (out.cpu() == 1).all()
    with pytest.raises(ascend_sim.LaunchError, match="local variables need more than the 64 KiB of this thread's stack"):
        kernels[name][1](out)


def test_an_array_larger_than_the_stack_of_a_core_is_refused(kernels, out):
    with pytest.raises(ascend_sim.LaunchError, match="local variables need more than the 512 KiB of this core's stack"):
        kernels["big_9000"][1](out)


def test_a_loop_without_effects_does_not_end(kernels):
    with time_limit(0.5), pytest.raises(ascend_sim.LaunchError, match="scalar code: still running"):
        kernels["counts_for_ever"][1](torch.zeros(8, dtype=torch.int32).npu())
