# SPDX-License-Identifier: MIT
"""Scale factors from one library's layout into another's, and what cannot be represented there.

    layouts.convert(sf, layouts.sm90(), layouts.ascend(), mn=m, k=k)          one operand, or a batch [groups, ..]
    layouts.convert(.., psum_layout=ends)                                     rows of an m-grouped operand: gaps hold anything
    layouts.convert_k_grouped(sf, layouts.sm100(32), layouts.ascend(), mn=m, ks=[512, 300])

    plain(gran_mn, gran_k)  fp32 [(G,) ceil(mn / gran_mn), ceil(k / gran_k)], any strides: what casts return
    sm90(gran_mn)           fp32, gran_k 128. gran_mn 1: MN-major, rows padded to 4; gran_mn 128: contiguous
    sm100(gran_k)           int32 [(G,) mn, ceil(k / gran_k / 4)], four UE8M0 exponents each, MN-major, rows padded to 4; gran_k 32 or 128
    ascend()                int16 [(G,) mn, ceil(k / 32 / 2)], two UE8M0 exponents each, MN-major, not padded; gran_k 32

All four are drawn in docs/layouts.md, "Scale pairs" and "Scales on NVIDIA". Values are kept exactly: a scale is repeated where the target
is finer, and where it is coarser the scales it stands for have to be equal. What a target cannot hold is a `LayoutError` that names the
first offending scale and the reason. Tensors may be on any device; the result is on the same one. Source: deep_gemm.md 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ascend_sim import arguments
from ascend_sim.errors import LayoutError
from ascend_sim.layouts import ue8m0

__all__ = ["Layout", "LayoutError", "plain", "sm90", "sm100", "ascend", "convert", "convert_k_grouped", "mismatch", "place", "values"]

_DTYPES = {"plain": torch.float32, "sm90": torch.float32, "sm100": torch.int32, "ascend": torch.int16}
_ROW_PADDING = {"sm90": 4, "sm100": 4, "ascend": 1}         # 16 bytes for NVIDIA's bulk copies
ASCEND_K_ALIGNMENT = 256                                    # where the groups of a k-grouped operand start on Ascend


@dataclass(frozen=True)
class Layout:
    """Which scales there are, and how they lie in memory. Made by plain(), sm90(), sm100(), ascend()."""

    kind: str
    gran_mn: int = 1
    gran_k: int = 32

    @property
    def dtype(self) -> torch.dtype:
        return _DTYPES[self.kind]

    @property
    def per_element(self) -> int:
        """Scales in an element."""
        return {"sm100": 4, "ascend": 2}.get(self.kind, 1)

    def shape(self, mn: int, k: int) -> tuple[int, int]:
        return _ceil(mn, self.gran_mn), _ceil(_ceil(k, self.gran_k), self.per_element)

    def strides(self, mn: int, k: int) -> tuple[int, int, int] | None:
        """What the library's kernels expect, batch first; None: any."""
        rows, columns = self.shape(mn, k)
        if self.kind == "plain":
            return None
        if self.kind == "sm90" and self.gran_mn != 1:
            return rows * columns, columns, 1
        padded = _ceil(rows, _ROW_PADDING[self.kind]) * _ROW_PADDING[self.kind]
        return padded * columns, 1, padded

    def __str__(self) -> str:
        return f"{self.kind}(gran_mn={self.gran_mn}, gran_k={self.gran_k})"


def plain(gran_mn: int = 1, gran_k: int = 128) -> Layout:
    """fp32 scales as they come out of a cast: [(G,) ceil(mn / gran_mn), ceil(k / gran_k)]."""
    return Layout("plain", _accepted("plain", "gran_mn", gran_mn, range(1, 1 << 31)), _accepted("plain", "gran_k", gran_k, range(1, 1 << 31)))


def sm90(gran_mn: int = 1) -> Layout:
    """What NVIDIA's SM90 kernels read: fp32, one scale per gran_mn (1 or 128) rows and 128 elements of k."""
    return Layout("sm90", _accepted("sm90", "gran_mn", gran_mn, (1, 128)), 128)


def sm100(gran_k: int = 128) -> Layout:
    """What NVIDIA's SM100 kernels read: int32, exponents of four neighbouring blocks of gran_k (32 or 128) elements of k, the first lowest."""
    return Layout("sm100", 1, _accepted("sm100", "gran_k", gran_k, (32, 128)))


def ascend() -> Layout:
    """What Ascend's kernels read: int16, exponents of two neighbouring blocks of 32 elements of k, the even one low."""
    return Layout("ascend", 1, 32)


def convert(sf: torch.Tensor, source: Layout, target: Layout, *, mn: int, k: int, psum_layout: torch.Tensor | None = None,
            alignment: int = 256) -> torch.Tensor:
    """The same scales in another layout, with the strides that its kernels expect.

    sf: as `source` says, [rows, columns] or [G, rows, columns]; any strides
    mn, k: of the operand, in elements
    psum_layout: int32 [groups], end row of each group of an m-grouped operand, whose next group starts at the next multiple of `alignment`
       (256 on Ascend, 128 on NVIDIA by default). Scales of the rows between are not looked at and come out as bytes 0. Not for a batch

    Raises: LayoutError (a ValueError) for a scale that `target` cannot hold; ValueError and TypeError for what `sf`, `source` or `target` is not.
    """
    _layout("convert", "target", target)
    arguments.whole("convert", "alignment", alignment, 1)
    scales, is_gap = _decoded("convert", sf, source, mn, k, psum_layout, alignment)
    scales, is_gap = _regridded(scales, is_gap, source, target, mn, k, None)
    encoded = _encoded(scales, is_gap, target, mn, k)
    return encoded if sf.dim() == 3 else encoded[0]


def convert_k_grouped(sf: torch.Tensor, source: Layout, target: Layout, *, mn: int, ks) -> torch.Tensor:
    """The scales of a k-grouped operand in another library's geometry. `ks`: elements of k in each group.

    plain, sm90: fp32 [sum of S_g, mn], S_g = ceil(k_g / gran_k); sm100: int32 [sum of ceil(S_g / 4), mn]; both k first, compact, contiguous
    ascend: int16 [mn, K / 64], MN-major, where each group starts at a multiple of 256 elements of k; bytes between groups are 0

    gran_mn is 1 for all. Raises: as convert; a LayoutError names the group.
    """
    _size("convert_k_grouped", "mn", mn)
    if not isinstance(ks, Sequence) or isinstance(ks, str | bytes):
        raise TypeError(f"convert_k_grouped: ks is {arguments.shown(ks)}; expected a list of k of each group.")
    ks = [arguments.whole("convert_k_grouped", "ks", k_g, 0) for k_g in ks]
    for name, layout in (("source", source), ("target", target)):
        _layout("convert_k_grouped", name, layout)
        if layout.gran_mn != 1:
            raise ValueError(f"convert_k_grouped: {name} is {layout}; expected gran_mn = 1.")
    _check("convert_k_grouped", sf, source.dtype, (2,))
    expected = _k_grouped_shape(source, mn, ks)
    if tuple(sf.shape) != expected:
        raise ValueError(f"convert_k_grouped: sf has shape {list(sf.shape)}; expected {list(expected)} for {source}, mn = {mn}, ks = {ks}.")
    groups = []
    for group, (begin, k_g) in enumerate(zip(_starts(source, ks), ks)):
        blocks, elements = _ceil(k_g, source.gran_k), source.shape(mn, k_g)[1]
        part = sf[:, begin:begin + elements] if source.kind == "ascend" else sf[begin:begin + elements].T
        scales = _scales(part, source)[None, :, :blocks]
        scales, is_gap = _regridded(scales, None, source, target, mn, k_g, group)
        groups.append(_encoded(scales, is_gap, target, mn, k_g)[0])
    if target.kind != "ascend":
        return torch.cat([part.T for part in groups]) if groups else sf.new_empty((0, mn), dtype=target.dtype)
    memory = torch.zeros(_k_grouped_shape(target, mn, ks)[::-1], dtype=torch.int16, device=sf.device)
    for begin, part in zip(_starts(target, ks), groups):
        memory[begin:begin + part.shape[1]] = part.T
    return memory.T


def values(sf: torch.Tensor, layout: Layout, mn: int, k: int) -> torch.Tensor:
    """fp32 [(G,) ceil(mn / gran_mn), ceil(k / gran_k)]: the scales themselves. Exponent 0 is 2^-127, 255 NaN."""
    scales, _ = _decoded("values", sf, layout, mn, k, None, 1)
    return scales.view(torch.float32) if sf.dim() == 3 else scales[0].view(torch.float32)


def mismatch(sf: torch.Tensor, layout: Layout, mn: int, k: int) -> str | None:
    """What about dtype, shape or strides is not as kernels of `layout` read it; None if nothing."""
    arguments.tensor("mismatch", "sf", sf)
    _layout("mismatch", "layout", layout)
    _size("mismatch", "mn", mn)
    _size("mismatch", "k", k)
    if sf.dtype != layout.dtype:
        return f"has dtype {_short(sf.dtype)}; expected {_short(layout.dtype)}"
    if tuple(sf.shape[-2:]) != layout.shape(mn, k):
        return f"has shape {list(sf.shape)}; expected {[*sf.shape[:-2], *layout.shape(mn, k)]}"
    strides = layout.strides(mn, k)
    if strides is None or sf.numel() == 0:
        return None
    for axis in range(-sf.dim(), 0):
        if sf.shape[axis] > 1 and sf.stride(axis) != strides[axis]:
            return f"has strides {list(sf.stride())}; expected {list(strides[3 - sf.dim():])}"
    return None


def place(elements: torch.Tensor, layout: Layout, mn: int, k: int) -> torch.Tensor:
    """Elements [(G,) rows, columns] of a layout, copied to where its kernels expect them; what pads the rows is 0."""
    arguments.tensor("place", "elements", elements, (2, 3))
    _layout("place", "layout", layout)
    _size("place", "mn", mn)
    _size("place", "k", k)
    if tuple(elements.shape[-2:]) != layout.shape(mn, k):
        raise ValueError(f"place: elements has shape {list(elements.shape)}; expected {[*elements.shape[:-2], *layout.shape(mn, k)]} for {layout}, "
                         f"mn = {mn}, k = {k}.")
    strides = layout.strides(mn, k)
    if strides is None or strides[2] == 1:
        return elements.contiguous()
    memory = torch.zeros((*elements.shape[:-2], elements.shape[-1], strides[2]), dtype=layout.dtype, device=elements.device)
    memory[..., : elements.shape[-2]] = elements.mT
    return memory.mT[..., : elements.shape[-2], :]


# Scales are passed around as the bits of fp32 numbers, int32 [G, rows, blocks]: equality of bits is what "the same scale" means.

def _decoded(function: str, sf, layout: Layout, mn: int, k: int, psum_layout, alignment: int):
    _layout(function, "source" if function == "convert" else "layout", layout)
    _check(function, sf, layout.dtype, (2, 3))
    _size(function, "mn", mn)
    _size(function, "k", k)
    if tuple(sf.shape[-2:]) != layout.shape(mn, k):
        raise ValueError(f"{function}: sf has shape {list(sf.shape)}; expected {[*sf.shape[:-2], *layout.shape(mn, k)]} for {layout}, mn = {mn}, k = {k}.")
    batched = sf if sf.dim() == 3 else sf[None]
    scales = _scales(batched, layout)[..., :_ceil(k, layout.gran_k)]
    if psum_layout is None:
        return scales, None
    if sf.dim() == 3:
        raise ValueError(f"{function}: psum_layout is given and sf has shape {list(sf.shape)}; expected two dimensions: the groups of an "
                         "m-grouped operand share one scale tensor.")
    return scales, _gap_rows(function, psum_layout, layout.gran_mn, scales.shape[1], alignment).to(sf.device)


def _scales(sf: torch.Tensor, layout: Layout) -> torch.Tensor:
    if layout.per_element == 1:
        return sf.contiguous().view(torch.int32)
    return ue8m0.to_fp32_bits(ue8m0.unpack(sf, layout.per_element))


def _gap_rows(function: str, psum_layout, gran_mn: int, rows: int, alignment: int) -> torch.Tensor:
    """bool [rows] of scale rows between the end of a group and the start of the next."""
    if not isinstance(psum_layout, torch.Tensor) or psum_layout.dtype != torch.int32 or psum_layout.dim() != 1:
        raise TypeError(f"{function}: psum_layout is {arguments.shown(psum_layout)}; expected an int32 tensor [groups].")
    if alignment < 1 or alignment % gran_mn:
        raise ValueError(f"{function}: alignment is {alignment}; expected a multiple of gran_mn = {gran_mn}.")
    gaps = torch.zeros(rows, dtype=torch.bool)
    for end in psum_layout.tolist():
        gaps[_ceil(end, gran_mn):_ceil(end, alignment) * alignment // gran_mn] = True
    return gaps


def _regridded(scales: torch.Tensor, is_gap, source: Layout, target: Layout, mn: int, k: int, group: int | None):
    _check_codes(scales, is_gap, target, group)
    scales = _coarser(scales, is_gap, 1, source.gran_mn, target.gran_mn, target, group)
    if is_gap is not None and target.gran_mn > source.gran_mn:
        is_gap = is_gap[:: target.gran_mn // source.gran_mn]    # groups start at whole granules: its first row says whether any counts
    scales = _coarser(scales, is_gap, 2, source.gran_k, target.gran_k, target, group)
    rows, blocks = _ceil(mn, target.gran_mn), _ceil(k, target.gran_k)
    if source.gran_mn > target.gran_mn:
        repeats = source.gran_mn // target.gran_mn
        scales = scales.repeat_interleave(repeats, dim=1)[:, :rows]
        is_gap = None if is_gap is None else is_gap.repeat_interleave(repeats)[:rows]
    if source.gran_k > target.gran_k:
        scales = scales.repeat_interleave(source.gran_k // target.gran_k, dim=2)[:, :, :blocks]
    return scales, is_gap


def _coarser(scales: torch.Tensor, is_gap, axis: int, fine: int, coarse: int, target: Layout, group: int | None) -> torch.Tensor:
    """Every (coarse / fine)-th scale along the axis, if those between are equal to it. Where the target is finer: all, still to be repeated."""
    name = "gran_mn" if axis == 1 else "gran_k"
    if fine % coarse and coarse % fine:
        raise LayoutError(f"{name} = {fine} and {coarse} of {target}: neither divides the other, so scales of one are not those of the other.")
    ratio = coarse // fine
    if ratio <= 1:
        return scales
    first = scales.index_select(axis, torch.arange(0, scales.shape[axis], ratio, device=scales.device))
    spread = first.repeat_interleave(ratio, dim=axis).narrow(axis, 0, scales.shape[axis])
    differs = scales != spread
    if is_gap is not None:
        differs &= ~is_gap[None, :, None]
    if differs.any():
        at = _first(differs)
        begin = list(at)
        begin[axis] = at[axis] // ratio * ratio
        one, other = (_show(scales[tuple(index)]) for index in (begin, at))
        raise LayoutError(f"{_where(scales, at, group)} is {other}, {_where(scales, begin, group)} {one}; {target} has one scale for {coarse} "
                          f"{'rows' if axis == 1 else 'elements of k'}, so they would have to be equal.")
    return first


def _check_codes(scales: torch.Tensor, is_gap, target: Layout, group: int | None) -> None:
    if target.per_element == 1:
        return
    wrong = ue8m0.from_fp32_bits(scales)[1]
    if is_gap is not None:
        wrong &= ~is_gap[None, :, None]
    if wrong.any():
        at = _first(wrong)
        raise LayoutError(f"{_where(scales, at, group)} is {_show(scales[tuple(at)])}, {ue8m0.why_not(scales[tuple(at)].item())}; {target} holds "
                          f"UE8M0 exponents, the powers of two from 2^-127 to 2^127, and NaN. {int(wrong.sum())} of {wrong.numel()} scales are no such.")


def _encoded(scales: torch.Tensor, is_gap, target: Layout, mn: int, k: int) -> torch.Tensor:
    """[G, rows, columns] with the strides of the target."""
    if is_gap is not None:
        scales = torch.where(is_gap[None, :, None], 0, scales)
    if target.per_element == 1:
        elements = scales.view(torch.float32)
    else:
        elements = ue8m0.pack(ue8m0.from_fp32_bits(scales)[0], target.per_element)
    return place(elements, target, mn, k)


def _k_grouped_shape(layout: Layout, mn: int, ks: list[int]) -> tuple[int, int]:
    if layout.kind == "ascend":
        return mn, sum(_ceil(k_g, ASCEND_K_ALIGNMENT) * ASCEND_K_ALIGNMENT for k_g in ks) // 64
    return sum(layout.shape(mn, k_g)[1] for k_g in ks), mn


def _starts(layout: Layout, ks: list[int]) -> list[int]:
    """First element along k of each group."""
    sizes = [_ceil(k_g, ASCEND_K_ALIGNMENT) * ASCEND_K_ALIGNMENT // 64 if layout.kind == "ascend" else layout.shape(1, k_g)[1] for k_g in ks]
    return [sum(sizes[:group]) for group in range(len(ks))]


def _where(scales: torch.Tensor, at, group: int | None) -> str:
    if group is not None:
        return f"the scale of group {group}, row {at[1]}, block {at[2]} of k"
    return f"the scale of {f'group {at[0]}, ' if scales.shape[0] > 1 else ''}row {at[1]}, block {at[2]} of k"


def _first(mask: torch.Tensor) -> list[int]:
    return mask.nonzero()[0].tolist()


def _show(bits: torch.Tensor) -> str:
    return f"{bits.cpu().view(torch.float32).item():.9g}"


def _check(function: str, sf, dtype: torch.dtype, dims: tuple[int, ...]) -> None:
    if not isinstance(sf, torch.Tensor) or sf.dtype != dtype:
        got = _short(sf.dtype) if isinstance(sf, torch.Tensor) else type(sf).__name__
        raise TypeError(f"{function}: sf is {got}; expected a tensor of {_short(dtype)}.")
    if sf.dim() not in dims:
        raise ValueError(f"{function}: sf has shape {list(sf.shape)}; expected {' or '.join(map(str, dims))} dimensions.")


def _layout(function: str, name: str, value) -> None:
    if not isinstance(value, Layout):
        raise TypeError(f"{function}: {name} is {arguments.shown(value)}; expected a Layout: plain(), sm90(), sm100() or ascend() of ascend_sim.layouts.")


def _size(function: str, name: str, value) -> int:
    if type(value) is not int or not 0 <= value < 1 << 48:
        raise ValueError(f"{function}: {name} is {arguments.shown(value)}; expected an int of at least 0, below 2^48.")
    return value


def _accepted(function: str, name: str, value, accepted) -> int:
    if type(value) is not int or value not in accepted:
        text = " or ".join(map(str, accepted)) if isinstance(accepted, tuple) else "an int of at least 1"
        raise ValueError(f"{function}: {name} is {arguments.shown(value)}; expected {text}.")
    return value


def _ceil(x: int, y: int) -> int:
    return -(-x // y)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
