# SPDX-License-Identifier: MIT
"""How deep_gemm.fp8_fp4_gemm_nt is launched: the scales into their layout, then one of csrc/kernels/deep_gemm/fp*_gemm.cpp.

What only CUDA multiplies needs another launch before: FP4 x FP8 expands a (expand_fp4.cpp); fp32 scales that are no powers of two become
part of bf16 operands (split_fp8.cpp), which the bf16 GEMM multiplies.
"""

import torch

from ascend_sim.backends import fp4, scales
from ascend_sim.backends.ascend.deep_gemm.bf16_gemm import bf16_gemm_nt
from ascend_sim.backends.ascend.deep_gemm.transform_sf import in_required_layout
from ascend_sim.backends.ascend.launch import gemm_fields, launch

# (A is FP4, B is FP4) -> kernel, and the fields only it has.
KERNELS = {
    (False, False): ("fp8_gemm", {"a_type": 0, "b_type": 0}),      # 0: e4m3
    (False, True): ("fp8_dequant_gemm", {}),
    (True, True): ("fp4_gemm", {}),
}


def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False, alpha=None, epilogue=None) -> None:
    (a_data, sfa), (b_data, sfb) = a, b
    if any(scales.stay_fp32(sf, gran_k, disable_ue8m0_cast) for sf, (_, gran_k) in ((sfa, recipe_a), (sfb, recipe_b))):
        bf16_gemm_nt(_split(a_data, sfa, recipe_a[0], False), _split(b_data, sfb, recipe_b[0], True), d, c=c, alpha=alpha)
        return
    (m, k), n = fp4.logical_shape(a_data), d.shape[1]
    sfa = in_required_layout(sfa, m, k, recipe_a)
    sfb = in_required_layout(sfb, n, k, recipe_b)
    if fp4.is_packed(a_data) and not fp4.is_packed(b_data):
        a_data = _expanded(a_data)
    kernel, own_fields = KERNELS[fp4.is_packed(a_data), fp4.is_packed(b_data)]
    fields = gemm_fields(a_data, b_data, d, c is not None, alpha)
    fields |= {
        "m": m, "n": n, "k": k,
        "sfa": sfa.data_ptr(), "sfb": sfb.data_ptr(),
        "sfa_stride": sfa.stride(1), "sfb_stride": sfb.stride(1),
    }
    launch(kernel, d, fields | own_fields)


def _expanded(data: torch.Tensor) -> torch.Tensor:
    """FP4 [mn, k] as FP8 with the same major."""
    lines = data if fp4.packed_axis(data) == -1 else data.T
    expanded = torch.empty((lines.shape[0], 2 * lines.shape[1]), dtype=torch.float8_e4m3fn, device=data.device)
    launch("expand_fp4", data, {"src": lines.data_ptr(), "dst": expanded.data_ptr(), "lines": lines.shape[0], "bytes": lines.shape[1],
                                "src_stride": lines.stride(0), "dst_stride": expanded.stride(0)})
    return expanded if lines is data else expanded.T


def _split(data: torch.Tensor, sf: torch.Tensor, gran_mn: int, lo_second: bool) -> torch.Tensor:
    """bf16 [mn, 3 k]: the scaled values in two parts, high, high, low; with lo_second high, low, high."""
    mn, k = data.shape
    parts = torch.empty((mn, 3 * k), dtype=torch.bfloat16, device=data.device)
    launch("split_fp8", data, {"src": data.data_ptr(), "dst": parts.data_ptr(), "mn": mn, "k": k, "row_stride": data.stride(0),
                               "lo_second": int(lo_second), "sf": sf.data_ptr(), "gran_mn": gran_mn,
                               "sf_row_stride": sf.stride(0), "sf_col_stride": sf.stride(1)})
    return parts
