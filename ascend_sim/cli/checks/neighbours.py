# SPDX-License-Identifier: MIT
"""Does something else go by a name of ours: another package, the vendor's software, a stray file that Python finds first?"""

import importlib.metadata
import importlib.util
from pathlib import Path

from ascend_sim import config
from ascend_sim.cli import probes
from ascend_sim.cli.checks import Context, fault, note, ok
from ascend_sim.compat._torch_npu import FOLDER as STAND_INS

OURS = ("ascend_sim", "deep_gemm", "deep_ep", "flash_mla", "deep_select")
THEIRS = ("torch", "numpy", "tilelang", "tile_kernels", "torch_npu")
DRIVER = Path("/dev/davinci_manager")
CANN = Path("/usr/local/Ascend")


def same_names(context: Context):
    owners = importlib.metadata.packages_distributions()
    found = False
    for name in OURS:
        others = sorted({other for other in owners.get(name, ()) if other.lower().replace("_", "-") != "ascend-sim"})
        if others:
            found = True
            yield fault("names", f"the package {name} is also installed by {', '.join(others)}", f"Both own the folder {name}: its files are mixed, or one set is gone.",
                        f"pip uninstall {' '.join(others)}; pip install --force-reinstall --no-deps ascend-sim. Or keep {others[0]} in an environment of its own.")
            continue
        place = _place(name)
        if place is not None and place != probes.ROOT and not any(_shadows(folder, name) for folder in _first_folders()):
            found = True
            yield fault("names", f"`import {name}` finds {place / name}, not the one of ascend-sim in {probes.ROOT}", "Its calls do not reach the emulated chip.",
                        "Uninstall or move it, or put it behind this environment's packages in sys.path.")
    if not found:
        yield ok("names", f"{', '.join(OURS[1:])} are those of ascend-sim")


def _place(name: str) -> Path | None:
    """The folder in which Python finds that package."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return None if found is None or not found.origin else Path(found.origin).resolve().parents[1]


def torch_npu(context: Context):
    owners = importlib.metadata.packages_distributions().get("torch_npu", [])
    if owners:
        yield fault("torch_npu", f"the vendor's torch_npu is installed ({', '.join(owners)})",
                    "It and ascend-sim are both the device npu, and PyTorch has room for one; the stand-in for torch_npu steps aside, too.",
                    "pip uninstall torch-npu here, or install ascend-sim in another environment.")


def torch_npu_first(context: Context):
    try:
        wanted = {"torch_npu", "toolkit"} & set(config.shims())
    except ValueError:
        return                                      # reported by `variables`
    if wanted and importlib.util.find_spec("torch_npu") is None:
        yield note("torch_npu", "ASCEND_SIM_SHIMS brings torch_npu when torch is imported: a program whose `import torch_npu` comes before `import torch` finds no module "
                   "of that name", "The stand-in is loaded by torch; nothing of ascend-sim runs before it.",
                   f"Import torch first, or start the program with `ascend-sim run`, or export PYTHONPATH={STAND_INS}${{PYTHONPATH:+:$PYTHONPATH}}")


def vendor(context: Context):
    for name in ("BISHENG_HOME", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        text = config.foreign(name).strip()
        if text and (Path(text) / "bin" / "bisheng").exists() and config.cache_dir() not in Path(text).parents:
            yield fault("CANN", f"{name}={text} has the vendor's compiler", "TileLang compiles with it, for the real chip; such kernels do not run here.",
                        f"unset {name} where you use ascend-sim (and do not source the toolkit's set_env.sh there).")
    for folder in filter(None, config.foreign("LD_LIBRARY_PATH").split(":")):
        if (Path(folder) / "libascendcl.so").exists():
            yield fault("CANN", f"LD_LIBRARY_PATH has the vendor's libascendcl.so, in {folder}", "A program that looks for it by name may get that one instead of ours.",
                        "Remove the folder from LD_LIBRARY_PATH where you use ascend-sim.")
    if CANN.exists():
        yield note("CANN", f"{CANN} exists", "Harmless as long as its variables are not set.", "Nothing.")
    if DRIVER.exists():
        yield note("CANN", f"{DRIVER} exists: this machine has a real Ascend device", "ascend-sim does not use it.", "For the real device use an environment with torch_npu.")


def strays(context: Context):
    found = False
    for folder in _first_folders():
        shadowed = [path for name in (*OURS, *THEIRS) if (path := _shadows(folder, name))]
        if not shadowed:
            continue
        found = True
        names = ", ".join(path.name for path in shadowed)
        where = "the current folder" if folder == Path.cwd() else "a folder of PYTHONPATH"
        reach = "Scripts in it, `python -c`, `python -m` and notebooks started there find it" if folder == Path.cwd() else "Every program finds it"
        if (folder / "csrc" / "isa").is_dir() and (folder / "ascend_sim").is_dir():
            yield note("strays", f"{folder}, {where}, is a checkout of ascend-sim", f"{reach} before the installed package.",
                       "Start Python with -P there, or change the folder; or build the checkout and use it on purpose.")
        else:
            yield fault("strays", f"{folder}, {where}, has {names}", f"{reach} instead of the installed package of that name.",
                        "Rename it, or start in another folder, or start Python with -P." if folder == Path.cwd() else "Rename it, or remove the folder from PYTHONPATH.")
    if not found:
        yield ok("strays", "none in the current folder or in PYTHONPATH")


def _first_folders() -> list[Path]:
    """What Python may search before the installed packages, without what is in use on purpose."""
    folders = [Path.cwd(), *(Path(part).absolute() for part in config.foreign("PYTHONPATH").split(":") if part)]
    return [folder for folder in dict.fromkeys(folders) if folder not in (probes.ROOT, STAND_INS) and folder.name not in ("site-packages", "dist-packages")]


def _shadows(folder: Path, name: str) -> Path | None:
    """The file or folder there that `import name` would take. A folder without __init__.py does not come before a package further down the path."""
    if (folder / name / "__init__.py").is_file():
        return folder / name
    candidates = [folder / f"{name}.py", *folder.glob(f"{name}.*.so"), folder / f"{name}.so"]
    return next((path for path in candidates if path.is_file()), None)


CHECKS = (same_names, torch_npu, torch_npu_first, vendor, strays)
