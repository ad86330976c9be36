# SPDX-License-Identifier: MIT
"""What the door asks of a quantised operand (data, sf): e4m3, or packed E2M1 as docs/layouts.md, "FP4 pairs", draws it."""

from dataclasses import dataclass

import torch

from ascend_sim.backends import fp4
from deep_gemm._door import Door

FP8 = torch.float8_e4m3fn


@dataclass(frozen=True)
class Quantised:
    """A pair as the caller gives it, and the sizes of its data in elements, in the caller's order of axes."""

    data: torch.Tensor
    sf: object              # looked at once the sizes are known
    shape: tuple[int, ...]
    axes: str               # "mk", "kn", ..

    @property
    def is_fp4(self) -> bool:
        return fp4.is_packed(self.data)

    @property
    def format(self) -> str:
        return "FP4" if self.is_fp4 else "FP8"

    @property
    def mn(self) -> int:
        return self.shape[1 - self.axes.index("k")]

    @property
    def k(self) -> int:
        return self.shape[self.axes.index("k")]

    @property
    def is_k_major(self) -> bool:
        return self.data.stride(self.axes.index("k")) == 1

    def k_last(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(data, sf) on their [mn, k] views."""
        return (self.data, self.sf) if self.axes[1] == "k" else (self.data.T, self.sf.T)

    def described(self) -> str:
        """Its shape as messages say it."""
        return f"{list(self.shape)}" + (f" (FP4, stored {list(self.data.shape)})" if self.is_fp4 else "")


def check_quantised(door: Door, name: str, operand, axes: str) -> Quantised | None:
    """The operand, if it is a pair (data, sf) whose data has the right type, as many dimensions as `axes`, and a major."""
    if not isinstance(operand, (tuple, list)) or len(operand) != 2:
        door.refuse(f"{name} is of type {type(operand).__name__}; expected a pair (data, sf).", TypeError)
        return None
    data, sf = operand
    if not door.tensor(f"{name}[0]", data, (len(axes),)):
        return None
    fine = door.dtype(f"{name}[0]", data, FP8, torch.int8, torch.float4_e2m1fn_x2, hint="int8 holds two FP4 codes a byte.")
    if not door.major(f"{name}[0]", data) or not fine:
        return None
    if data.dtype == torch.float4_e2m1fn_x2:
        door.differs("float4_e2m1fn_x2", f"{name}[0] has dtype float4_e2m1fn_x2; the Ascend library takes FP4 as int8 with the same bytes.")
        data = data.view(torch.int8)
    return Quantised(data, sf, fp4.logical_shape(data, axes.index("k") - len(axes)), axes)


def check_pair(door: Door, a: Quantised, b: Quantised) -> bool:
    """Which formats the chip multiplies."""
    if a.is_fp4 and not b.is_fp4:
        return door.refuse("Unsupported operand dtypes: FP4 (int8) a with FP8 (float8_e4m3fn) b; expected FP8 x FP8, FP8 x FP4 or FP4 x FP4. "
                           "Swap a and b, which gives the transposed d.", TypeError)
    return True
