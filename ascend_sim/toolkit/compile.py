# SPDX-License-Identifier: MIT
"""How does the text of a container become a shared object of this host? The rewrite, then the driver of ascend_sim.jit."""

import importlib.util
from pathlib import Path

from ascend_sim.jit import driver
from ascend_sim.toolkit.container import Container
from ascend_sim.toolkit.rewrite import rewrite, rewrite_launcher

TEMPLATES = Path("tl_templates") / "ascend"
_COMMON = ('#include <tl_templates/ascend/common.h>', '#include <tl_templates/ascend/debug.h>')
# Precompiled: what every generated text includes first.
_PREFIX = "".join(f"{line}\n" for line in _COMMON)
# Generated text is what it is: nobody can act on a warning about it.
_OPTIONS = ("-w",)


def build(container: Container) -> tuple[Path, dict[str, str]]:
    """The shared object, made now or found in the cache, and the cores of each kernel by name. CompileError if it does not compile."""
    done = rewrite(container.source)
    folders = [_present(Path(folder)) for folder in container.include_dirs]
    text, libraries = done.source, ()
    if container.kind == "host":
        text, libraries = rewrite_launcher(done), ("ascendcl",)
    library = driver.build_library(
        text, f"{next(iter(done.kernels))}.cpp", done.kernels, include_dirs=folders, flags=(*_OPTIONS, *container.options),
        prefix=_PREFIX if all(line in container.source for line in _COMMON) else "", hashed=_hashed, libraries=libraries)
    return library, done.kernels


def _present(folder: Path) -> Path:
    """The folder, or the one of the TileLang that is installed here if the text was generated elsewhere."""
    if not folder.is_dir():
        spec = importlib.util.find_spec("tilelang")
        here = Path(spec.submodule_search_locations[0]) / "src" if spec and spec.submodule_search_locations else None
        if here is not None and (here / TEMPLATES).is_dir():
            return here
    return folder


def _hashed(folder: Path) -> Path:
    """What of an include folder is part of a kernel's text. TileLang's has the sources of all its targets; a kernel sees its templates."""
    return folder / TEMPLATES if (folder / TEMPLATES).is_dir() else folder
