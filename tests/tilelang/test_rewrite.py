# SPDX-License-Identifier: MIT
"""The text rewrite of generated source: what it inserts, and that it refuses what it does not know."""

import pytest
from ascend_sim.tilelang.rewrite import Kernel, rewrite

SOURCE = '''#include <tl_templates/ascend/common.h>
__simd_vf__ inline void f_kernel_simd_vf_0(__ubuf__ uint8_t* buf, int32_t block_idx) {
  vector_bool v = asc_create_mask_b32(PAT_ALL);
}

extern "C" __global__ __mix__(1, 2) void f_kernel(__gm__ float* A, int n) {
  asc_init();
  __cbuf__ uint8_t *buf_l1 = (__cbuf__ uint8_t *)0;
  __ubuf__ uint8_t *buf = (__ubuf__ uint8_t *)0;
}
'''


def test_the_three_insertions():
    done = rewrite(SOURCE)
    assert done.kernels == [Kernel("f_kernel", "mix", "f_kernel_entry")]
    assert "  __ubuf__ uint8_t *buf = (__ubuf__ uint8_t *)ascend::isa::ub_base();\n" in done.source
    assert "(__cbuf__ uint8_t *)0;" in done.source  # L1 pointers stay offsets
    assert "block_idx) {\n  ASC_VF;\n  vector_bool" in done.source
    assert done.source.endswith(
        'extern "C" void f_kernel_entry(const uint8_t* args) { ascend::isa::kernel_entry<&f_kernel>(args); }\n')


@pytest.mark.parametrize("kind, qualifier", [("cube", "__cube__"), ("vector", "__vector__")])
def test_kernel_kinds(kind, qualifier):
    assert rewrite(SOURCE.replace("__mix__(1, 2)", qualifier)).kernels[0].kind == kind


@pytest.mark.parametrize("change, message", [
    (("(__ubuf__ uint8_t *)0;", "(__ubuf__ const unsigned char *)0;"), "UB pointer in an unknown form: __ubuf__ uint8_t .buf ="),
    (("__simd_vf__ inline void f", "__simd_vf__ static void f"), "__simd_vf__ function in an unknown form"),
    (("__mix__(1, 2)", "__other__"), "kernel f_kernel is __other__; expected one of __cube__"),
    (('extern "C" __global__', "__global__"), "1 kernels, 0 of them in a known form"),
])
def test_an_unknown_form_is_an_error(change, message):
    with pytest.raises(ValueError, match=message):
        rewrite(SOURCE.replace(*change))
