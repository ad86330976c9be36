# SPDX-License-Identifier: MIT
"""How deep_gemm.fp8_fp4_gemm_nt is launched: the scales into their layout, then csrc/kernels/deep_gemm/fp8_gemm.cpp."""

from ascend_sim.backends.ascend.deep_gemm.transform_sf import in_required_layout
from ascend_sim.backends.ascend.launch import gemm_fields, launch

E4M3 = 0        # the kernel's number for the element type


def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False, alpha=None, epilogue=None) -> None:
    (a_data, sfa), (b_data, sfb) = a, b
    sfa = in_required_layout(sfa, *a_data.shape, recipe_a[0])
    sfb = in_required_layout(sfb, *b_data.shape, recipe_b[0])
    fields = gemm_fields(a_data, b_data, d, c is not None, alpha)
    fields |= {
        "sfa": sfa.data_ptr(), "sfb": sfb.data_ptr(),
        "sfa_stride": sfa.stride(1), "sfb_stride": sfb.stride(1),
        "a_type": E4M3, "b_type": E4M3,
    }
    launch("fp8_gemm", d, fields)
