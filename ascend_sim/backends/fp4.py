# SPDX-License-Identifier: MIT
"""What an int8 operand holds: two E2M1 codes a byte along the axis of unit stride, the even element in the low nibble.

K-major [mn, k / 2], MN-major [mn / 2, k]; if both axes have unit stride, K-major. Drawn in docs/layouts.md, "FP4 pairs".
"""

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)      # of codes 0 to 7; bit 3 is the sign


def is_packed(data: torch.Tensor) -> bool:
    return data.dtype == torch.int8


def packed_axis(data: torch.Tensor, k_axis: int = -1) -> int:
    """Which of the last two axes is stored at half its size, -1 or -2. `k_axis`: which of them is k."""
    mn_axis = -3 - k_axis
    return k_axis if data.stride(k_axis) == 1 else mn_axis


def logical_shape(data: torch.Tensor, k_axis: int = -1) -> tuple[int, ...]:
    """The sizes in elements; of a tensor that is not packed, its own."""
    shape = list(data.shape)
    if is_packed(data):
        shape[packed_axis(data, k_axis)] *= 2
    return tuple(shape)


def unpack(data: torch.Tensor) -> torch.Tensor:
    """float64 [.., mn, k] of packed data with k last."""
    if packed_axis(data) == -2:
        return _unpack_rows(data.mT).mT
    return _unpack_rows(data)


def _unpack_rows(data: torch.Tensor) -> torch.Tensor:
    of_code = torch.tensor(VALUES + tuple(-value for value in VALUES), dtype=torch.float64, device=data.device)
    of_byte = torch.stack((of_code.repeat(16), of_code.repeat_interleave(16)), dim=-1)
    return torch.nn.functional.embedding(data.view(torch.uint8).to(torch.int32), of_byte).flatten(-2)
