# SPDX-License-Identifier: MIT
"""What the dense GEMMs share at the door: the shapes a suffix stands for, C, alpha and epilogue, and the sizes that need no kernel."""

import torch

from ascend_sim import backends
from ascend_sim.backends import settings
from deep_gemm._door import Door
from deep_gemm.epilogue import Alpha, Epilogue, FP8Quantization, Identity

# suffix -> the axes of a and b, as the caller shapes them
AXES = {"nt": ("mk", "nk"), "nn": ("mk", "kn"), "tn": ("km", "kn"), "tt": ("km", "nk")}


def sizes(door: Door, suffix: str, a_shape, b_shape, a_text: str = "", b_text: str = "") -> tuple[int, int, int] | None:
    """(m, n, k) if the shapes of a and b, in elements and two-dimensional, agree. The texts are how messages say them."""
    a_axes, b_axes = AXES[suffix]
    size = dict(zip(a_axes, a_shape, strict=True))
    m, k = size["m"], size["k"]
    n, b_k = b_shape[b_axes.index("n")], b_shape[b_axes.index("k")]
    if b_k != k:
        hint = ""
        if n == k:          # b would fit with its axes swapped
            other = suffix[0] + ("n" if suffix[1] == "t" else "t")
            hint = f" For b stored as [{', '.join(AXES[other][1])}] call {door.function.removesuffix(suffix)}{other}."
        door.refuse(f"b has shape {b_text or list(b_shape)}; expected [{', '.join(b_axes)}] with k = {k}, as in a {a_text or list(a_shape)}.{hint}")
        return None
    return m, n, k


def check_output(door: Door, d, c, m: int, n: int, accepted=(torch.bfloat16, torch.float32)) -> None:
    """d [m, n] of an accepted dtype, N-major; c like it, or d itself."""
    if not door.tensor("d", d, (2,)):
        return
    door.dtype("d", d, *accepted)
    if door.shape("d", d, (m, n), "[m, n]"):
        door.n_major("d", d)
    if c is None or c is d or not door.tensor("c", c, (2,)):
        return
    door.dtype("c", c, d.dtype, hint="c must have d's dtype.")
    if door.shape("c", c, (m, n), "[m, n]"):
        door.n_major("c", c)
    if c.data_ptr() == d.data_ptr() and m * n and (c.shape != d.shape or c.stride() != d.stride()):
        door.refuse(f"c shares d's memory but has shape {list(c.shape)} and strides {list(c.stride())}; "
                    f"expected d's: {list(d.shape)}, {list(d.stride())}.")


def check_epilogue(door: Door, alpha, epilogue) -> float | None:
    """The factor on the accumulator, None for none."""
    door.number("alpha", alpha)
    if epilogue is None:
        return alpha
    if not isinstance(epilogue, Epilogue):
        door.refuse(f"epilogue is of type {type(epilogue).__name__}; expected None, Identity() or Alpha(alpha) of deep_gemm.epilogue.", TypeError)
        return None
    if alpha is not None:
        door.refuse(f"alpha = {alpha} and epilogue = {epilogue} are exclusive; pass one of them.")
    if isinstance(epilogue, FP8Quantization):
        door.refuse("epilogue = FP8Quantization(...) is for fp8_einsum; the dense GEMMs write bf16 or fp32. "
                    "Pass None, Identity() or Alpha(alpha).")
    elif not isinstance(epilogue, (Identity, Alpha)):
        door.refuse(f"epilogue is of type {type(epilogue).__name__}; expected None, Identity() or Alpha(alpha).", TypeError)
    return epilogue.alpha if isinstance(epilogue, Alpha) else None


def prepare_output(door: Door, d: torch.Tensor, c: torch.Tensor | None, k: int, tensors: dict[str, torch.Tensor]) -> bool:
    """Closes the door, brings C into d, and does what needs no kernel. Returns whether one is still needed."""
    for name, tensor in tensors.items():
        if name not in ("c", "d") and d.numel() and tensor.numel() and tensor.data_ptr() == d.data_ptr() != 0:     # 0: no memory
            door.refuse(f"d shares its memory with {name}; expected memory of its own: parts of d are written while {name} is still read.")
    door.close()
    if d.numel() == 0 or settings.deep_gemm.dry_run:
        return False
    backends.check_tensors(door.function, tensors)
    if c is not None and c.data_ptr() != d.data_ptr():
        d.copy_(c)
    elif k == 0 and c is None:
        d.zero_()
    return k > 0
