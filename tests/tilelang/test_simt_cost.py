# SPDX-License-Identifier: MIT
"""Does prepared text say what its SIMT functions cost, in the same lines?"""

import re

from ascend_sim.toolkit.simt_cost import with_costs

TEXT = """
__simt_vf__ __launch_bounds__(64) inline void k_simt_vf_0(__gm__ float* x, __gm__ half* y, __ubuf__ uint8_t* buf, int32_t n) {
  float v[4];
  #pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    v[i] = x[((((int32_t)threadIdx.x) * 4) + i)];
  }
  if (((int32_t)threadIdx.x) < n) {
    y[((int32_t)threadIdx.x)] = (v[0] * v[1]) + expf(v[2]);
  }
  for (int32_t j = 0; j < n; ++j) {
    asc_syncthreads();
  }
}
extern "C" __global__ __vector__ void k(__gm__ float* x) {
  x[0] = 1;
}
"""


def costs(text):
    return [(number, int(operations), int(gm_bytes)) for number, line in enumerate(text.splitlines())
            for operations, gm_bytes in re.findall(r"ASC_SIMT_COST\((\d+), (\d+)\);$", line)]


def test_each_block_says_what_it_costs_when_it_is_entered():
    done = with_costs(TEXT)
    # The function: four rounds of a load and a store, two conditions. The branch: y, three of v, *, +, expf. The loop: a call.
    assert costs(done) == [(1, 4 * 2 + 2, 4 * 4), (7, 7, 2), (10, 1, 0)]
    assert re.sub(r" ASC_SIMT_COST\(\d+, \d+\);", "", done) == TEXT


def test_other_functions_stay_as_they_are():
    text = TEXT.replace("__simt_vf__", "__simd_vf__")
    assert with_costs(text) == text
