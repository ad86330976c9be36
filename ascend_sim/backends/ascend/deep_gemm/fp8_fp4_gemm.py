# SPDX-License-Identifier: MIT
"""How deep_gemm.fp8_fp4_gemm_nt is launched: the scales into their layout, then one of csrc/kernels/deep_gemm/fp*_gemm.cpp."""

from ascend_sim.backends import fp4
from ascend_sim.backends.ascend.deep_gemm.transform_sf import in_required_layout
from ascend_sim.backends.ascend.launch import gemm_fields, launch

# (A is FP4, B is FP4) -> kernel, and the fields only it has. FP4 x FP8 is refused by the library.
KERNELS = {
    (False, False): ("fp8_gemm", {"a_type": 0, "b_type": 0}),      # 0: e4m3
    (False, True): ("fp8_dequant_gemm", {}),
    (True, True): ("fp4_gemm", {}),
}


def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False, alpha=None, epilogue=None) -> None:
    (a_data, sfa), (b_data, sfb) = a, b
    (m, k), n = fp4.logical_shape(a_data), d.shape[1]
    sfa = in_required_layout(sfa, m, k, recipe_a[0])
    sfb = in_required_layout(sfb, n, k, recipe_b[0])
    kernel, own_fields = KERNELS[fp4.is_packed(a_data), fp4.is_packed(b_data)]
    fields = gemm_fields(a_data, b_data, d, c is not None, alpha)
    fields |= {
        "m": m, "n": n, "k": k,
        "sfa": sfa.data_ptr(), "sfb": sfb.data_ptr(),
        "sfa_stride": sfa.stride(1), "sfb_stride": sfb.stride(1),
    }
    launch(kernel, d, fields | own_fields)
