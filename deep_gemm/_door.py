# SPDX-License-Identifier: MIT
"""How arguments are refused: once, at the door, several faults in one message, before anything is written.

A public function makes a `Door`, states what it needs (`dtype`, `shape`, `major`, ...) and calls `close()`, which raises if anything
was refused: TypeError if only types were at fault, else ValueError. A state that only the Ascend library refuses goes through
`ascend_sim.parity.differs` after that, so that a refused call gives no warning.
"""

from numbers import Real

import torch

from ascend_sim import arguments, parity
from deep_gemm._differences import DIFFERENCES


class Door:
    def __init__(self, function: str):
        self.function = function
        self._faults: list[tuple[type, str]] = []
        self._differences: list[tuple[str, str]] = []

    # What can be said about an argument. Each returns whether it was fine, so that dependent checks can be left out.

    def refuse(self, fault: str, error: type = ValueError) -> bool:
        if (error, fault) not in self._faults:          # one recipe stands for two operands
            self._faults.append((error, fault))
        return False

    def differs(self, kind: str, reason: str) -> None:
        """Only the Ascend library refuses this. `kind` is a key of deep_gemm/_differences.py."""
        if kind not in DIFFERENCES:
            raise KeyError(kind)
        self._differences.append((kind, reason))

    def tensor(self, name: str, value, dims: tuple[int, ...]) -> bool:
        if not isinstance(value, torch.Tensor):
            return self.refuse(f"{name} is {_kind(value)}; expected a tensor.", TypeError)
        if value.dim() not in dims:
            return self.refuse(f"{name} has shape {list(value.shape)}; expected {' or '.join(map(str, dims))} dimensions.")
        return True

    def dtype(self, name: str, value: torch.Tensor, *accepted: torch.dtype, hint: str = "") -> bool:
        if value.dtype in accepted:
            return True
        return self.refuse(f"{name} has dtype {_short(value.dtype)}; expected {' or '.join(map(_short, accepted))}.{_hint(hint)}", TypeError)

    def shape(self, name: str, value: torch.Tensor, expected: tuple[int, ...], meaning: str, hint: str = "") -> bool:
        if tuple(value.shape) == tuple(expected):
            return True
        return self.refuse(f"{name} has shape {list(value.shape)}; expected {list(expected)}, {meaning}.{_hint(hint)}")

    def major(self, name: str, value: torch.Tensor) -> bool:
        """One of the last two axes has unit stride: K-major or MN-major. Both: K-major, which the Ascend library calls ambiguous."""
        inner, outer = value.stride(-1), value.stride(-2)
        if inner != 1 and outer != 1:
            return self.refuse(f"{name} of shape {list(value.shape)} has strides {list(value.stride())}; one of the last two must be 1. "
                               f"Call {name}.contiguous().")
        if inner == 1 and outer == 1:
            self._ambiguous(name, value, "K-major")
        return True

    def n_major(self, name: str, value: torch.Tensor) -> bool:
        """Rows are contiguous and do not overlap: what can be written, or read as C."""
        rows, columns = value.shape[-2:]
        inner, outer = value.stride(-1), value.stride(-2)
        if inner != 1:
            return self.refuse(f"{name} has strides {list(value.stride())}; expected the last one to be 1 (N-major).")
        if rows > 1 and outer < columns:
            return self.refuse(f"{name} of shape {list(value.shape)} has strides {list(value.stride())}: its rows overlap; "
                               f"expected a row stride of at least {columns}.")
        if outer == 1:
            self._ambiguous(name, value, "N-major")
        return True

    def _ambiguous(self, name: str, value: torch.Tensor, taken: str) -> None:
        self.differs("ambiguous major", f"{name} of shape {list(value.shape)} has strides {list(value.stride())}: both axes have unit stride, "
                     f"which the Ascend library refuses as ambiguous; taken as {taken}.")

    def same_device(self, tensors: dict[str, torch.Tensor]) -> bool:
        devices = {name: tensor.device for name, tensor in tensors.items()}
        if len(set(devices.values())) <= 1:
            return True
        return self.refuse(f"tensors are on several devices ({', '.join(f'{n} on {d}' for n, d in devices.items())}); expected one.")

    def compiled_dims(self, value) -> bool:
        if isinstance(value, str) and set(value) <= set("mnk"):
            return True
        return self.refuse(f"compiled_dims is {arguments.shown(value)}; expected a string of letters out of m, n and k, such as 'nk'.",
                           ValueError if isinstance(value, str) else TypeError)

    def number(self, name: str, value) -> bool:
        if value is None or isinstance(value, Real) and not isinstance(value, bool):
            if isinstance(value, int) and abs(value) >= 2**1023:
                return self.refuse(f"{name} is a whole number of {value.bit_length()} bits; expected one that a floating-point number can hold.")
            return True
        return self.refuse(f"{name} is {_kind(value)}; expected a number or None.", TypeError)

    def flag(self, name: str, value) -> bool:
        try:
            arguments.flag(self.function, name, value)
        except TypeError:
            return self.refuse(f"{name} is {arguments.shown(value)}; expected True or False.", TypeError)
        return True

    @property
    def is_open(self) -> bool:
        """Nothing was refused so far."""
        return not self._faults

    def close(self) -> None:
        """Raises if anything was refused; else reports what only the Ascend library refuses."""
        if self._faults:
            only_types = all(error is TypeError for error, _ in self._faults)
            texts = [text for _, text in self._faults]
            message = texts[0] if len(texts) == 1 else "".join(f"\n  - {text}" for text in texts)
            raise (TypeError if only_types else ValueError)(f"{self.function}: {message}")
        for kind, reason in self._differences:
            parity.differs(self.function, kind, reason)


def _kind(value) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _hint(hint: str) -> str:
    return f" {hint}" if hint else ""
