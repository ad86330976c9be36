# SPDX-License-Identifier: MIT
"""torch.npu.FloatTensor and its like: constructors and types for isinstance, as the older style of PyTorch has them."""

import torch

_DTYPES = {"Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16, "Byte": torch.uint8,
           "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64, "Bool": torch.bool}


class _TensorType(type):
    def __call__(cls, *arguments, device=None):
        """Of sizes: uninitialised; of a sequence: its values; of nothing: empty."""
        device = torch.device("npu") if device is None else torch.device(device)
        if device.type != "npu":
            raise ValueError(f"torch.npu.{cls.__name__}: device {device} given; expected an npu device.")
        if arguments and not all(isinstance(a, int) and not isinstance(a, bool) for a in arguments):
            if len(arguments) != 1:
                raise TypeError(f"torch.npu.{cls.__name__}: {len(arguments)} arguments given; expected sizes or one sequence of values.")
            if not isinstance(arguments[0], torch.Size):
                return torch.tensor(arguments[0], dtype=cls.dtype, device=device)
            arguments = tuple(arguments[0])
        return torch.empty(arguments or (0,), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value):
        return isinstance(value, torch.Tensor) and value.device.type == "npu" and value.dtype == cls.dtype


TYPES = {f"{name}Tensor": _TensorType(f"{name}Tensor", (), {"dtype": dtype, "__module__": "torch.npu",
                                                           "__doc__": f"npu tensors of {dtype}."}) for name, dtype in _DTYPES.items()}
