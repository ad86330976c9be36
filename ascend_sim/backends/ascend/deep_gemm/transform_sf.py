# SPDX-License-Identifier: MIT
"""How deep_gemm.transform_sf_into_required_layout is launched: csrc/kernels/deep_gemm/transform_sf.cpp for the Ascend library's scales,
expand_sf.cpp for those that only CUDA has."""

import torch

from ascend_sim.backends.ascend.launch import launch


def transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False,
                                      psum_layout=None) -> torch.Tensor:
    pairs = (k + 63) // 64
    batch = sf.shape[:-2]
    packed = torch.empty((*batch, pairs, mn), dtype=torch.int16, device=sf.device).transpose(-2, -1)
    is_cudas = sf.dtype == torch.int32 or recipe[1] != 32
    launch("expand_sf" if is_cudas else "transform_sf", sf, ({"gran_k": recipe[1]} if is_cudas else {}) | {
        "src": sf.data_ptr(), "dst": packed.data_ptr(),
        "mn": mn, "k": k, "gran_mn": recipe[0], "batches": batch[0] if batch else 1,
        "src_is_fp32": int(sf.dtype == torch.float32),
        "src_row_stride": sf.stride(-2), "src_col_stride": sf.stride(-1), "src_batch_stride": sf.stride(0) if batch else 0,
        "psum": 0 if psum_layout is None else psum_layout.data_ptr(),
        "num_groups": 0 if psum_layout is None else psum_layout.numel(),
    })
    return packed


def in_required_layout(sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int]) -> torch.Tensor:
    """The scales of a dense operand as the GEMM kernel reads them; unchanged if they are so already.

    With an odd number of k blocks the last high byte belongs to no block but reaches the cube, so it has to be cleared.
    """
    whole_pairs = (k + 31) // 32 % 2 == 0
    if whole_pairs and sf.dtype == torch.int16 and recipe[0] == 1 and sf.stride(-2) == 1 and sf.stride(-1) == sf.size(-2):
        return sf
    return transform_sf_into_required_layout(sf, mn, k, recipe)
