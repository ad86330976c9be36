# SPDX-License-Identifier: MIT
"""How is a compiled kernel launched? Arguments are checked against its C++ parameters and packed (csrc/isa/kernel_entry.h)."""

import ctypes
import operator
import struct
from collections.abc import Callable

import torch

from ascend_sim.arguments import whole

_INTEGERS = {f"{sign}{bits}": (f"{'' if sign == 'i' else 'u'}int{bits}", code, bits)
             for bits, codes in ((8, "bB"), (16, "hH"), (32, "iI"), (64, "qQ")) for sign, code in zip("iu", codes, strict=True)}
_FLOATS = {"f32": "f", "f64": "d", "f16": "e"}
_ROUNDED = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}     # Python has no such number: torch rounds

# What a pointer to the element may be given. Signs are ignored: torch has few operators for unsigned integers.
_ELEMENTS = {
    "f32": (torch.float32,), "f64": (torch.float64,), "f16": (torch.float16,), "bf16": (torch.bfloat16,),
    "e4m3": (torch.float8_e4m3fn,), "e5m2": (torch.float8_e5m2,), "e8m0": (torch.float8_e8m0fnu, torch.uint8, torch.int8),
    "e2m1x2": (torch.float4_e2m1fn_x2, torch.uint8, torch.int8), "e1m2x2": (torch.uint8, torch.int8),
    "bool": (torch.bool, torch.uint8, torch.int8),
    **{f"{sign}{bits}": (getattr(torch, f"int{bits}"), getattr(torch, f"uint{bits}")) for sign in "iu" for bits in (16, 32, 64)},
}
_UB_BYTES = 256 * 1024                  # of a vector core
_BYTES = ("void", "i8", "u8")           # pointers to bytes take every tensor


class Kernel:
    """A kernel of compiled text. kernel[blocks](..) launches it on the device and current stream of its tensors, and returns when it is done.

    name, cores: as compiled    signature: the C++ parameters, e.g. ("f32*", "i32")    entry: address of void(const uint8_t* args)
    kernel[blocks](.., ub_bytes=n) says how much of UB it has, for the memory check; stream= chooses another stream.
    Pointers take npu tensors of the element's dtype (pointers to void, char or unsigned char: of any), None, or an address as int.
    """

    def __init__(self, library: ctypes.CDLL, name: str, cores: str, *, data_independent: bool):
        self.name, self.cores, self.data_independent = name, cores, data_independent
        self._library = library         # keeps it loaded
        self.entry: int = ctypes.cast(getattr(library, f"ascend_sim_entry_{name}"), ctypes.c_void_p).value
        describe = getattr(library, f"ascend_sim_signature_{name}")
        describe.restype = ctypes.c_char_p
        text = describe().decode()
        self.signature = tuple(text.split(",")) if text else ()

    def __repr__(self):
        return f"<kernel {self.name}({', '.join(self.signature)}) for {self.cores} cores>"

    def __getitem__(self, blocks: int) -> Callable[..., None]:
        number = whole(self.name, "blocks", blocks, 1, 2**31 - 1)

        def run(*arguments, stream=None, ub_bytes=None) -> None:
            """stream: a torch.npu.Stream; None is the current one.
            ub_bytes: of each vector core's UB, from its beginning, that the kernel may use, 1 to 262144; the memory check reports accesses beyond
            them. None: all of it.
            """
            given = 0 if ub_bytes is None else whole(self.name, "ub_bytes", ub_bytes, 1, _UB_BYTES)
            self._launch(number, arguments, stream, given)
        return run

    def _launch(self, blocks: int, arguments: tuple, stream, ub_bytes: int) -> None:
        from ascend_sim import _C
        if len(arguments) != len(self.signature):
            raise TypeError(f"{self.name}: {len(arguments)} arguments; it has {len(self.signature)} parameters: ({', '.join(self.signature)}).")
        device = self._device(arguments)
        if stream is None:
            stream = torch.npu.current_stream(device)
        elif not isinstance(stream, torch.Stream) or stream.device.type != "npu":
            raise TypeError(f"{self.name}: stream is {_described(stream)}; expected a torch.npu.Stream, or None for the current one.")
        if stream.device_index != device:
            if any(isinstance(argument, torch.Tensor) for argument in arguments):
                raise ValueError(f"{self.name}: stream is one of npu:{stream.device_index}, and the tensors are on npu:{device}; expected one device.")
            device = stream.device_index
        packed = b""
        for number, (parameter, argument) in enumerate(zip(self.signature, arguments, strict=True), 1):
            data, alignment = _pack(f"{self.name}: argument {number}", parameter, argument)
            alignment = max(alignment, 4)
            packed += bytes(-len(packed) % alignment) + data + bytes(-len(data) % 4 if len(data) < 4 else 0)
        _C.launch_entry(self.entry, self.name, self.cores, device, stream.stream_id, blocks, packed, self.data_independent, ub_bytes)

    def _device(self, arguments: tuple) -> int:
        devices = {argument.device for argument in arguments if isinstance(argument, torch.Tensor)}
        wrong = [device for device in devices if device.type != "npu"]
        if wrong:
            raise ValueError(f"{self.name}: a tensor is on {wrong[0]}; expected npu: tensor.npu() copies it there.")
        if len(devices) > 1:
            raise ValueError(f"{self.name}: tensors are on {', '.join(sorted(map(str, devices)))}; expected one device.")
        return next(iter(devices)).index if devices else torch.npu.current_device()


def _pack(which: str, parameter: str, argument) -> tuple[bytes, int]:
    """(bytes, alignment) of one argument."""
    if parameter.endswith("*"):
        return struct.pack("<Q", _address(which, parameter, argument)), 8
    if parameter.startswith("struct:"):
        _, size, alignment = parameter.split(":")
        if not isinstance(argument, bytes | bytearray) or len(argument) != int(size):
            raise TypeError(f"{which} is {_described(argument)}; the parameter is a struct: expected its {size} bytes.")
        return bytes(argument), int(alignment)
    if isinstance(argument, torch.Tensor):
        raise TypeError(f"{which} is a tensor; the parameter is {parameter}: expected a number (tensor.item() reads one).")
    if parameter == "bool":
        if not isinstance(argument, int | float) or argument not in (0, 1):
            raise TypeError(f"{which} is {argument!r}; the parameter is bool: expected True or False.")
        return struct.pack("<i", bool(argument)), 4
    if parameter in _INTEGERS:
        name, code, bits = _INTEGERS[parameter]
        try:
            number = operator.index(argument)
        except TypeError:
            raise TypeError(f"{which} is {argument!r}; the parameter is {name}: expected a whole number.") from None
        try:
            return struct.pack(f"<{code}", number), bits // 8
        except struct.error:
            low, high = (0, 2**bits - 1) if parameter[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            raise ValueError(f"{which} is {number}; the parameter is {name}: expected {low} to {high}.") from None
    if parameter in _FLOATS or parameter in _ROUNDED:
        try:
            number = None if isinstance(argument, str | bytes | bytearray) else float(argument)     # which read numbers from text
        except (TypeError, ValueError):
            number = None
        except OverflowError:           # a whole number beyond fp64: infinity, as what is beyond fp32 below
            number = float("inf") if argument > 0 else float("-inf")
        if number is None:
            raise TypeError(f"{which} is {argument!r}; the parameter is {parameter}: expected a number.")
        return _rounded(parameter, number)
    raise TypeError(f"{which}: parameters of type {parameter} cannot be passed by value.")


def _rounded(parameter: str, number: float) -> tuple[bytes, int]:
    if parameter in _ROUNDED:
        value = torch.tensor([number], dtype=_ROUNDED[parameter]).view(torch.uint8)
        return bytes(value.tolist()), len(value)
    size = struct.calcsize(_FLOATS[parameter])
    try:
        return struct.pack(f"<{_FLOATS[parameter]}", number), size
    except OverflowError:               # beyond the largest finite number: infinity, as a conversion in C++ gives
        return struct.pack(f"<{_FLOATS[parameter]}", float("inf") if number > 0 else float("-inf")), size


def _address(which: str, parameter: str, argument) -> int:
    if argument is None:
        return 0
    if isinstance(argument, int) and not isinstance(argument, bool):
        if not 0 <= argument < 2**64:
            raise ValueError(f"{which} is {argument}; expected an address.")
        return argument
    element = parameter[:-1]
    accepted = _ELEMENTS.get(element)
    if not isinstance(argument, torch.Tensor):
        raise TypeError(f"{which} is {_described(argument)}; the parameter is {parameter}: expected an npu tensor, None, or an address.")
    if element not in _BYTES and (accepted is None or argument.dtype not in accepted):
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in accepted or ())
        raise TypeError(f"{which} has dtype {str(argument.dtype).removeprefix('torch.')}; the parameter is {parameter}: expected {names}.")
    return argument.data_ptr()


def _described(argument) -> str:
    return f"a {type(argument).__name__}" if not isinstance(argument, int | float | str) else repr(argument)
