# SPDX-License-Identifier: MIT
"""What deep_gemm.transform_sf_into_required_layout computes for NVIDIA's kernels: SM90's fp32, or SM100's int32 words of four exponents."""

import torch

from ascend_sim import layouts
from ascend_sim.backends import cuda
from ascend_sim.backends.cuda.deep_gemm.limits import gap_rows
from ascend_sim.layouts import ue8m0


@torch.no_grad()
def transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False,
                                      psum_layout=None) -> torch.Tensor:
    gran_mn, gran_k = recipe
    if cuda.arch() == 90 or disable_ue8m0_cast:
        return layouts.place(sf, layouts.sm90(), mn, k)
    codes = sf.contiguous().view(torch.int32) >> 23 & 0xFF
    if psum_layout is not None:
        gaps = gap_rows(psum_layout.tolist(), gran_mn, codes.shape[-2])
        codes = torch.where(gaps[:, None].to(sf.device), 0, codes)
    codes = codes.repeat_interleave(gran_mn, dim=-2)[..., :mn, :]
    return layouts.place(ue8m0.pack(codes, 4), layouts.sm100(gran_k), mn, k)
