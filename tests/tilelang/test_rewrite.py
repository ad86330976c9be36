# SPDX-License-Identifier: MIT
"""The text rewrite of generated source: what it inserts, that lines stay where they are, and that it refuses what it does not know."""

import pytest
from ascend_sim.toolkit.rewrite import rewrite, rewrite_launcher

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


LAUNCHER = SOURCE + '''
static char error_buf[ERROR_BUF_SIZE];
extern "C" int call(float* __restrict__ A, int n, void* stream=nullptr) {
	f_kernel<<<(max(1, n) * 1 * 1), 0, stream>>>((float*)A, n);
	TILELANG_CHECK_LAST_ERROR("f_kernel");

	return 0;
}
'''


def test_the_insertions():
    done = rewrite(SOURCE)
    assert done.kernels == {"f_kernel": "mix"}
    assert '  __ubuf__ uint8_t *buf = (__ubuf__ uint8_t *)ascend::isa::ub_base("buf");\n' in done.source
    assert "(__cbuf__ uint8_t *)0;" in done.source  # L1 pointers stay offsets
    assert "block_idx) { ASC_VF;\n  vector_bool" in done.source


def test_no_line_moves():
    assert rewrite(SOURCE).source.count("\n") == SOURCE.count("\n")
    before, marker, text = rewrite_launcher(rewrite(LAUNCHER)).partition("#line 1\n")
    assert marker and "toolkit/host_launch.h" in before
    assert text.split("\n").index("\treturn 0;") == LAUNCHER.split("\n").index("\treturn 0;")


def test_a_launch_becomes_a_call_and_its_check_goes():
    text = rewrite_launcher(rewrite(LAUNCHER))
    assert 'ascend::toolkit::launch<&f_kernel>("f_kernel", 2, (uint32_t)((max(1, n) * 1 * 1)), (uint32_t)(0), (void*)(stream), (float*)A, n)' in text
    assert "TILELANG_CHECK_LAST_ERROR" not in text and "<<<" not in text


@pytest.mark.parametrize("change", [("f_kernel<<<", "g_kernel<<<"), (", 0, stream>>>", ", stream>>>"), ("(float*)A, n);", "(float*)A,\nn);")])
def test_an_unknown_launch_is_an_error(change):
    with pytest.raises(ValueError, match="a launch in an unknown form: "):
        rewrite_launcher(rewrite(LAUNCHER.replace(*change)))


@pytest.mark.parametrize("kind, qualifier", [("cube", "__cube__"), ("vector", "__vector__")])
def test_kernel_kinds(kind, qualifier):
    assert rewrite(SOURCE.replace("__mix__(1, 2)", qualifier)).kernels == {"f_kernel": kind}


@pytest.mark.parametrize("change, message", [
    (("(__ubuf__ uint8_t *)0;", "(__ubuf__ const unsigned char *)0;"), "UB pointer in an unknown form: __ubuf__ uint8_t .buf ="),
    (("__simd_vf__ inline void f", "__simd_vf__ static void f"), "__simd_vf__ function in an unknown form"),
    (("__mix__(1, 2)", "__other__"), "kernel f_kernel is __other__; expected one of __cube__"),
    (('extern "C" __global__', "__global__"), "1 kernels, 0 of them in a known form"),
])
def test_an_unknown_form_is_an_error(change, message):
    with pytest.raises(ValueError, match=message):
        rewrite(SOURCE.replace(*change))


LOOPS = """__simd_vf__ inline void f_kernel_simd_vf_0(__ubuf__ uint8_t* buf, int32_t n) {
  vector_bool v = asc_create_mask_b32(PAT_ALL);
  for (int32_t i = 0; i < 8; ++i) {
  }
  if (n < 4) {
#pragma unroll
    for (int32_t r = 0; r < n; ++r) {
      for (int32_t i = 0; i < 3; ++i) {
        for (int32_t j = 0; j < 9; ++j) {
        }
      }
      for (int32_t i = 0; i < 5; ++i) {
      }
      for (int32_t i = 0; i < 4; ++i) {
      }
    }
  }
  simd_inst::mem_bar(VST_VLD);
}
"""


def test_loops_that_follow_each_other_are_marked():
    """Two in the function, one of them in a condition, and two in one of these. Not a loop alone, nor one that is unrolled."""
    plain = LOOPS + SOURCE[SOURCE.index('extern "C"'):]
    marked = rewrite(plain).source.split("\n")
    assert [(number, line.strip()) for number, line in enumerate(marked) if "ASC_VF_LOOP" in line] == [
        (2, "ASC_VF_LOOP; for (int32_t i = 0; i < 8; ++i) {"),
        (4, "if (n < 4) { ASC_VF_LOOP;"),
        (7, "ASC_VF_LOOP; for (int32_t i = 0; i < 3; ++i) {"),
        (11, "ASC_VF_LOOP; for (int32_t i = 0; i < 5; ++i) {")]
    assert len(marked) == plain.count("\n") + 1
    alone = plain.replace("  for (int32_t i = 0; i < 8; ++i) {\n  }\n", "").replace("i < 5", "i < 4")
    assert "ASC_VF_LOOP" not in rewrite(alone).source
