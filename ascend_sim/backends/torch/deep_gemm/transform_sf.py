# SPDX-License-Identifier: MIT
"""What deep_gemm.transform_sf_into_required_layout computes: one UE8M0 byte per row and 32-element block of k, in pairs, MN-major."""

import torch

from ascend_sim.backends import scales


@torch.no_grad()
def transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False,
                                      psum_layout=None) -> torch.Tensor:
    exponents = scales.exponents(sf, mn, k, recipe)
    if psum_layout is not None:
        exponents[gap_rows(psum_layout, recipe[0], exponents.shape[-2])] = 0
    if exponents.shape[-1] % 2:
        exponents = torch.nn.functional.pad(exponents, (0, 1))
    low, high = exponents[..., 0::2].to(torch.int16), exponents[..., 1::2].to(torch.int16)
    mn_major = torch.empty((*low.shape[:-2], low.shape[-1], mn), dtype=torch.int16, device=sf.device).transpose(-2, -1)
    return mn_major.copy_(low | (high << 8))


def gap_rows(psum: torch.Tensor, gran_mn: int, rows: int) -> torch.Tensor:
    """bool [rows]: rows between a group's end, rounded up to whole scale rows, and the next multiple of 256."""
    index = torch.arange(rows, device=psum.device)
    ends = psum.to(torch.int64)
    first = (-(-ends // gran_mn) * gran_mn)[:, None]
    last = (-(-ends // 256) * 256)[:, None]
    return ((index >= first) & (index < last)).any(dim=0)
