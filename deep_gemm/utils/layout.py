# SPDX-License-Identifier: MIT
"""Where rows of a group start in grouped layouts, and CUDA's scale layouts ("TMA-aligned"), which the GEMMs here take as well.

Source: DeepGEMM 2.6.1; docs/layouts.md, "Scales on NVIDIA".
"""

import torch

from ascend_sim import arguments, layouts, parity
from ascend_sim.layouts import ue8m0
from deep_gemm.runtime import (
    get_mk_alignment_for_contiguous_layout,
    get_theoretical_mk_alignment_for_contiguous_layout,
    set_mk_alignment_for_contiguous_layout,
)

# CUDA's older names; the identical object.
get_m_alignment_for_contiguous_layout = get_mk_alignment_for_contiguous_layout
get_k_alignment_for_contiguous_layout = get_mk_alignment_for_contiguous_layout

__all__ = [
    "get_mk_alignment_for_contiguous_layout", "set_mk_alignment_for_contiguous_layout",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "get_m_alignment_for_contiguous_layout", "get_k_alignment_for_contiguous_layout",
    "get_tma_aligned_size", "get_mn_major_tma_aligned_tensor", "get_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor",
]


def get_tma_aligned_size(x: int, element_size: int) -> int:
    """The smallest number of elements, at least x, that is whole 16 bytes. element_size: bytes, a divisor of 16."""
    if type(element_size) is not int or element_size < 1 or 16 % element_size:
        raise ValueError(f"get_tma_aligned_size: element_size is {arguments.shown(element_size)}; expected a divisor of 16.")
    x = arguments.whole("get_tma_aligned_size", "x", x, 0)
    _report("get_tma_aligned_size")
    return -(-x // (16 // element_size)) * (16 // element_size)


def get_mn_major_tma_aligned_tensor(sf: torch.Tensor) -> torch.Tensor:
    """fp32 scales [mn, s] or [g, mn, s] as SM90's kernels read them: the same shape, strides (R * s, 1, R) with R = mn rounded up to 4.

    A tensor that has these strides is returned itself. Raises: TypeError, ValueError.
    """
    mn, s = _check("get_mn_major_tma_aligned_tensor", sf)
    _report("get_mn_major_tma_aligned_tensor")
    if sf.stride()[-2:] == layouts.sm90().strides(mn, s * 128)[1:] and (sf.dim() == 2 or sf.stride(0) == layouts.sm90().strides(mn, s * 128)[0]):
        return sf
    return layouts.place(sf, layouts.sm90(), mn, s * 128)


def get_mn_major_tma_aligned_packed_ue8m0_tensor(sf: torch.Tensor, psum_layout: torch.Tensor | None = None) -> torch.Tensor:
    """fp32 powers of two (0 becomes 2^-127, inf NaN) [(g,) mn, s] as SM100's kernels read them: int32 [(g,) mn, ceil(s / 4)], four exponents each, rows padded to 4.

    psum_layout: int32 [groups], end rows of the groups of an m-grouped operand; scales of the rows between become 0 and may hold anything.
    Raises: ValueError for other values, naming the first; TypeError.
    """
    function = "get_mn_major_tma_aligned_packed_ue8m0_tensor"
    mn, s = _check(function, sf)
    live = torch.ones(mn, dtype=torch.bool)
    if psum_layout is not None:
        live = _live_rows(function, sf, psum_layout, mn)
    codes = _exponents(function, sf, live)
    _report(function)
    return layouts.place(ue8m0.pack(codes, 4), layouts.sm100(), mn, s * 128)


def get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(sf: torch.Tensor, grouped_layout: torch.Tensor, ks_cpu, gran_k: int, k_alignment: int,
                                                           use_psum_layout: bool = False) -> torch.Tensor:
    """fp32 powers of two [sum of S_g, mn], S_g = ceil(k_g / gran_k), of a k-grouped operand as int32 [sum of ceil(S_g / 4), mn], contiguous.

    grouped_layout: int32 [groups], k of each group, or with use_psum_layout its end, where a group starts at the next multiple of k_alignment
    ks_cpu: k of each group, or None or [] with use_psum_layout: then (rows of sf + 3 groups) // 4 rows are returned, the last ones unused
    gran_k: 32 or 128; mn: a multiple of 4; k_alignment: a multiple of 32; at most 128 groups.
    Raises: ValueError, TypeError.
    """
    function = "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor"
    total, mn = _check(function, sf, dims=(2,))
    use_psum_layout = arguments.flag(function, "use_psum_layout", use_psum_layout)
    if ks_cpu is not None:
        ks_cpu = [arguments.whole(function, "ks_cpu", k_g, 0)
                  for k_g in arguments.instance(function, "ks_cpu", ks_cpu, (list, tuple), "a list of k of each group, or None with use_psum_layout=True")]
    if type(gran_k) is not int or gran_k not in (32, 128) or mn % 4 or type(k_alignment) is not int or k_alignment < 1 or k_alignment % 32 or not sf.is_contiguous():
        raise ValueError(f"{function}: gran_k is {arguments.shown(gran_k)}, mn {mn}, k_alignment {arguments.shown(k_alignment)}, sf has strides {list(sf.stride())}; expected gran_k 32 or "
                         "128, mn a multiple of 4, k_alignment a multiple of 32, sf contiguous.")
    if not isinstance(grouped_layout, torch.Tensor) or grouped_layout.dtype != torch.int32 or grouped_layout.dim() != 1 or grouped_layout.numel() > 128:
        raise TypeError(f"{function}: grouped_layout is {arguments.shown(grouped_layout)}; expected an int32 tensor of at most 128 groups.")
    ks = grouped_layout.tolist()
    if use_psum_layout:
        starts = [0, *(-(-end // k_alignment) * k_alignment for end in ks[:-1])]
        ks = [max(end - start, 0) for start, end in zip(starts, ks)]
    elif not ks_cpu:
        raise ValueError(f"{function}: ks_cpu is {ks_cpu!r}; expected k of each group unless use_psum_layout=True.")
    sizes = [-(-k_g // gran_k) for k_g in ks]
    if sum(sizes) > total:
        raise ValueError(f"{function}: sf has {total} rows; expected at least {sum(sizes)}, for groups of k = {ks}.")
    codes = _exponents(function, sf[: sum(sizes)], torch.ones(sum(sizes), dtype=torch.bool)).T
    _report(function)
    words = [ue8m0.pack(part, 4).T for part in codes.split(sizes, dim=1)]
    rows = sum(-(-size // 4) for size in sizes) if ks_cpu else (total + 3 * len(ks)) // 4
    packed = torch.zeros((rows, mn), dtype=torch.int32, device=sf.device)
    if words:
        whole = torch.cat(words)
        packed[: whole.shape[0]] = whole
    return packed


def _check(function: str, sf, dims: tuple[int, ...] = (2, 3)) -> tuple[int, int]:
    if not isinstance(sf, torch.Tensor) or sf.dtype != torch.float32:
        raise TypeError(f"{function}: sf is {sf.dtype if isinstance(sf, torch.Tensor) else type(sf).__name__}; expected a tensor of float32.")
    if sf.dim() not in dims:
        raise ValueError(f"{function}: sf has shape {list(sf.shape)}; expected {' or '.join(map(str, dims))} dimensions.")
    return sf.shape[-2], sf.shape[-1]


def _exponents(function: str, sf: torch.Tensor, live: torch.Tensor) -> torch.Tensor:
    """int32 exponent bytes of fp32 powers of two; 0 in rows that are not live. The byte as it is: +0 gives 0, inf 255."""
    bits = sf.contiguous().view(torch.int32)
    live = live.to(sf.device)[:, None]
    wrong = ~ue8m0.is_transformable(bits) & live
    if wrong.any():
        at = wrong.nonzero()[0].tolist()
        raise ValueError(f"{function}: sf is {sf[tuple(at)].item():.9g} at {at}; expected non-negative powers of two. Round them up with ceil_to_ue8m0.")
    return torch.where(live, bits >> 23 & 0xFF, 0)


def _live_rows(function: str, sf: torch.Tensor, psum_layout, mn: int) -> torch.Tensor:
    if sf.dim() != 2 or not isinstance(psum_layout, torch.Tensor) or psum_layout.dtype != torch.int32 or psum_layout.dim() != 1:
        raise TypeError(f"{function}: psum_layout is {arguments.shown(psum_layout)} for sf {list(sf.shape)}; expected an int32 tensor [groups] and sf [mn, s].")
    alignment = get_mk_alignment_for_contiguous_layout()
    live, start = torch.zeros(mn, dtype=torch.bool), 0
    for end in psum_layout.tolist():
        live[start:end] = True
        start = -(-end // alignment) * alignment
    return live


def _report(function: str) -> None:
    parity.differs(function, "TMA layouts", "only the CUDA library has helpers for its own scale layouts.")
