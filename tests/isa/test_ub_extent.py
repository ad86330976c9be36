# SPDX-License-Identifier: MIT
"""ASCEND_SIM_CHECK=memory: is an access in UB beyond what the launch allocates reported, by whichever means it is made?"""

import re

import ascend_sim
import pytest
import torch
from ascend_sim import jit

TEXT = r"""#include "simt_api/asc_simt.h"
__ubuf__ float* ub() { return reinterpret_cast<__ubuf__ float*>(ascend::isa::ub_base("rows")); }
constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};
__simd_vf__ inline void ones(__ubuf__ float* to, int at, int lanes) {
    vector_bool m = asc_update_mask_b32(lanes);
    vector_f32 r;
    asc_duplicate_scalar(r, 1.0f, m);
    asc_storealign(to, r, at, m);  // @vector_store
}
__simd_vf__ inline void copy(__ubuf__ float* a, int at) {
    vector_f32 r;
    asc_loadalign(r, a, at);  // @vector_load
    asc_storealign(a, r, 0, asc_create_mask_b32(PAT_ALL));
}
__simt_vf__ void threads(__ubuf__ float* to, int at) {
    to[threadIdx.x + at] = 1;  // @simt
}
__simt_vf__ void adds(__ubuf__ float* to, int at) {
    asc_atomic_add(to + at, 1.0f);  // @simt_atomic
}
// Each touches 64 floats of UB from `at` on; 64 + `at` of them are the last one's end.
#define KERNEL(name, ...) extern "C" __global__ __vector__ void name(__gm__ float* x, int at) { __VA_ARGS__ }
KERNEL(vector_store, ones(ub(), at, 64);)
KERNEL(vector_load, ones(ub(), 0, 64); copy(ub(), at);)
KERNEL(simt, asc_vf_call<threads>(cce::dim3(64), ub(), at);)
KERNEL(simt_atomic, ub()[0] = 0; asc_vf_call<adds>(cce::dim3(64), ub(), at + (at ? 63 : 0));)
KERNEL(scalar_store, ub()[63 + at] = 1;)  // @scalar_store
KERNEL(scalar_load, ub()[0] = 1; if (ub()[at ? 63 + at : 0] == 5) x[0] = 1;)  // @scalar_load
KERNEL(struct_copy, struct Row { float at[64]; }; *reinterpret_cast<Row*>(ub() + at) = *reinterpret_cast<const Row*>(x);)  // @struct_copy
KERNEL(transfer_in, asc_copy_gm2ub_align(ub() + at, x, 1, 256, 0, 0, false, kLoad, 0, 0);)  // @transfer_in
KERNEL(transfer_of_rows, asc_copy_gm2ub_align(ub(), x, 2, 32, 0, 0, false, kLoad, 32, 224 + 4 * at);)  // @transfer_of_rows
KERNEL(transfer_out, asc_copy_gm2ub_align(ub(), x, 1, 256, 0, 0, false, kLoad, 0, 0); asc_sync(); asc_copy_ub2gm_align(x, ub() + at, 1, 256, kStore, 0, 0);)  // @transfer_out
KERNEL(masked_store, ones(ub(), at, at ? 57 : 64);)
extern "C" __global__ __mix__(1, 2) void fixpipe(__gm__ float* x, int at) {
    if ASC_IS_AIC {
        for (int i = 0; i < 2; ++i) asc_fill_l1(reinterpret_cast<__cbuf__ uint16_t*>(0), 0u, {.repeat = 1, .blk_num = 16, .dst_gap = 0});
        asc_sync();
        asc_copy_l12l0a(reinterpret_cast<__ca__ bfloat16_t*>(0), reinterpret_cast<__cbuf__ bfloat16_t*>(0), 0, 0, 1, 1, 1, 1);
        asc_copy_l12l0b(reinterpret_cast<__cb__ bfloat16_t*>(0), reinterpret_cast<__cbuf__ bfloat16_t*>(0), 0, 0, 1, 1, 1, 1);
        asc_sync();
        asc_mmad(reinterpret_cast<__cc__ float*>(0), reinterpret_cast<__ca__ bfloat16_t*>(0), reinterpret_cast<__cb__ bfloat16_t*>(0), 16, 16, 16, 0, true, false, true);
        asc_sync();
        asc_set_l0c_copy_nz_para(1, 0, 0);
        asc_copy_l0c2ub(ub() + at, reinterpret_cast<__cc__ float*>(0), 16, 4, 16, 16, 0, asc_dual_dst_mode(0), asc_unit_flag_mode(0), asc_quant_mode(0), asc_relu_pre_mode(0), 0, 1, 0, 0);  // @fixpipe
    }
}
"""
LINES = {match[1]: number for number, line in enumerate(TEXT.splitlines(), 1) if (match := re.search(r"// @(\w+)$", line))}
KERNELS = {name: "vector" for name in re.findall(r"^KERNEL\((\w+)", TEXT, re.MULTILINE)} | {"fixpipe": "mix"}
SAYS = {
    "vector_store": "V: asc_storealign", "vector_load": "V: asc_loadalign", "simt": r"V: SIMT store: thread \(56, 0, 0\)", "simt_atomic": "V: asc_atomic_add: thread",
    "scalar_store": "S: scalar store", "scalar_load": "S: scalar load", "struct_copy": "S: scalar store", "transfer_in": "MTE2: asc_copy_gm2ub_align: destination",
    "transfer_of_rows": "MTE2: asc_copy_gm2ub_align: destination", "transfer_out": "MTE3: asc_copy_ub2gm_align: source", "fixpipe": "FIX: asc_copy_l0c2ub: destination",
    "masked_store": "V: asc_storealign",
}


@pytest.fixture(scope="module")
def checked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_CHECK", "memory")
        return jit.compile_all(TEXT, KERNELS)


@pytest.fixture
def x():
    return torch.zeros(128).npu()


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_what_lies_beyond_the_allocation_is_reported_with_its_line(checked, x, name):
    checked[name][1](x, 0, ub_bytes=256)
    at = 64 if name == "vector_load" else 8
    with pytest.raises(ascend_sim.LaunchError) as caught:
        checked[name][1](x, at, ub_bytes=256)
    line = LINES["vector_store" if name == "masked_store" else name]
    found = re.search(rf"{SAYS[name]}.*: UB0 addresses 0x(\w+) to 0x(\w+): the launch allocates 256 bytes \(rows\), which end at 0x100 "
                      rf"\((\d+) bytes too far\)     vector_store.cpp:{line}$", str(caught.value))
    assert found, str(caught.value)
    first, end, beyond = int(found[1], 16), int(found[2], 16), int(found[3])
    assert first < end and end - 0x100 == beyond
    if name != "transfer_out":                          # nobody has written what it would store
        checked[name][1](x, 8)                          # all of UB
        checked[name][1](x, 8, ub_bytes=512)


def test_a_register_may_be_longer_than_what_is_left(checked, x):
    checked["vector_load"][1](x, 8, ub_bytes=256)       # TileLang's own reordering of UB for L1 loads whole ones


def test_the_masked_lanes_of_a_store_are_not_there(checked, x):
    checked["masked_store"][1](x, 0, ub_bytes=256)
    with pytest.raises(ascend_sim.LaunchError, match="UB0 addresses 0x100 to 0x104"):
        checked["masked_store"][1](x, 8, ub_bytes=256)  # 57 lanes from lane 8 on: the last one alone


def test_an_unchecked_kernel_has_all_of_ub(x):
    for kernel in jit.compile_all(TEXT, KERNELS).values():
        kernel[1](x, 8, ub_bytes=256)


@pytest.mark.parametrize("given, error, says", [
    (0, ValueError, "ub_bytes is 0; expected a whole number from 1 to 262144"), (262145, ValueError, "ub_bytes is 262145"), (-1, ValueError, "ub_bytes is -1"),
    (True, TypeError, "ub_bytes is True; expected a whole number"), (1.5, TypeError, "ub_bytes is 1.5"), ("1", TypeError, "ub_bytes is '1'"),
])
def test_an_allocation_that_ub_cannot_hold_is_refused(checked, x, given, error, says):
    with pytest.raises(error, match=f"^vector_store: {re.escape(says)}"):
        checked["vector_store"][1](x, 0, ub_bytes=given)


def test_an_array_of_the_text_is_not_in_ub(x):
    """`__ubuf__` places nothing: such an array is a local variable of the host."""
    text = """extern "C" __global__ __vector__ void k(__gm__ float* x) {
    __ubuf__ float rows[64];
    asc_copy_gm2ub_align(rows, x, 1, 256, 0, 0, false, asc_load_l2_cache_mode{0}, 0, 0);
}"""
    with pytest.raises(ascend_sim.LaunchError, match="destination: 0x.* is no address in UB; an array that kernel text declares is a variable of the host, .*ub_base.*     k.cpp:3$"):
        jit.compile(text)[1](x)
