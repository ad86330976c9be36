# SPDX-License-Identifier: MIT
"""Stand-ins for what existing code imports or looks for: opt-in, and gone where the real thing is there.

    ASCEND_SIM_SHIMS=torch_npu,cuda,davinci,toolkit       in the environment; `import torch` then installs them, in child processes too
    ascend_sim.compat.install("torch_npu", "cuda")        in a program
    import ascend_sim.compat.cuda                         the same for one of them
    ascend_sim.compat.active()                            which of them are installed in this process

    torch_npu   `import torch_npu` works: torch.npu, npu_format_cast, npu_fusion_attention, profiler, contrib.transfer_to_npu, dtype numbers
    cuda        torch.cuda and the device "cuda" mean npu
    davinci     /dev/davinci_manager exists, which is how some libraries tell Ascend from CUDA
    toolkit     TileLang finds its compiler and runtime (ascend_sim.tilelang); brings torch_npu and davinci with it

docs/compat.md says what each does and where it ends.
"""

import importlib
import warnings

from ascend_sim import arguments, config

_active: dict[str, bool] = {}       # name -> whether it is installed; False: it stepped aside, and has said so


def install(*names: str) -> tuple[str, ...]:
    """Installs the stand-ins named, each once; returns all that are active. One that finds the real thing steps aside with one warning.

    Raises: ValueError for a name that is not known, before anything is installed; ImportError if the device npu cannot be had.
    """
    if names == ("all",):
        names = config.SHIMS
    unknown = [name for name in names if not isinstance(name, str) or name not in config.SHIMS]
    if unknown:
        raise ValueError(f"ascend_sim.compat.install: unknown {', '.join(map(arguments.shown, unknown))}; known: {', '.join(config.SHIMS)}, or all.")
    if names:
        import ascend_sim.npu  # noqa: F401  the device, if torch did not load it by itself
    for name in names:
        if name not in _active:
            reason = importlib.import_module(f"ascend_sim.compat._{name}").install()
            _active[name] = reason is None
            if reason is not None:
                warnings.warn(f"ascend_sim: the stand-in {name!r} steps aside: {reason}", UserWarning, stacklevel=2)
    return active()


def active() -> tuple[str, ...]:
    """The stand-ins installed in this process, in the order of the list above."""
    return tuple(name for name in config.SHIMS if _active.get(name))


def cuda_as_npu():
    """A context manager: torch.cuda and the device "cuda" mean npu inside the block, for the whole process. What was there before is put back.

    Where the stand-in `cuda` is active anyway, entering and leaving change nothing.
    """
    from ascend_sim.compat import _cuda
    return _cuda.redirected()
