# SPDX-License-Identifier: MIT
"""Is every environment variable accepted, and does none of them switch off what is wanted?"""

from ascend_sim import chips, config
from ascend_sim.cli.checks import Context, fault, note, ok


def variables(context: Context):
    problems = config.problems()
    for problem in problems:
        name = problem.partition("=")[0].partition(" ")[0]
        yield fault("variables", problem, "The first use of the device or of what it governs raises this error.",
                    f"Set {name} to an accepted value, or remove it: unset {name}.")
    for name, near in config.unknown().items():
        yield fault("variables", f"{name} is set, and ascend-sim has no variable of this name.", "It has no effect.",
                    f"Did you mean {near}? `ascend-sim info` lists them all." if near else f"unset {name}; `ascend-sim info` lists those that there are.")
    chosen = [setting.name for setting in config.settings() if setting.origin != "default"]
    if not problems:
        yield ok("variables", f"set and accepted: {', '.join(chosen)}" if chosen else "none is set")


def chip(context: Context):
    try:
        name = config.chip()
        found = chips.load(name)
    except ValueError as error:
        yield fault("chip", str(error), "No device can be set up.", "Set ASCEND_SIM_CHIP to a known name or to the path of a correct file, or unset ASCEND_SIM_CHIP.")
        return
    yield ok("chip", f"{found.name}, {found['cores.ai_cores']:.0f} AI cores")


def backend(context: Context):
    listing = context.ask("device").value.get("backends")
    if listing is None:
        return                                      # torch or the device has a fault, which is reported there
    name = config.backend()
    base, colon, option = name.partition(":")
    known = [spelling for other, line in listing.items() for spelling in (other, *(f"{other}:{one}" for one in line["options"]))]
    line = listing.get(base)
    if line is None or (colon and option not in line["options"] and line["available"]):
        yield fault("backend", f"ASCEND_SIM_BACKEND={name!r} is not known; known: {', '.join(known)}.", "Every call of deep_gemm raises.",
                    "Set it to a known name, install the plug-in that has it, or unset ASCEND_SIM_BACKEND.")
    elif not line["available"]:
        yield fault("backend", f"{name} cannot be used here: {line['reason']}.", "Every call of deep_gemm raises.", "Mend that, or unset ASCEND_SIM_BACKEND.")
    else:
        yield ok("backend", f"{name}: {line['reason']}")
    for other, line in listing.items():
        if not line["available"] and other != base:
            yield note("backend", f"{other} is not available: {line['reason']}", "Only that backend is concerned.", "Nothing, unless you want it.")


def autoload(context: Context):
    off = [name for name, is_off in (("TORCH_DEVICE_BACKEND_AUTOLOAD", config.foreign("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"),
                                     ("ASCEND_SIM_AUTOLOAD", config.foreign("ASCEND_SIM_AUTOLOAD").strip() and not _autoload())) if is_off]
    for name in off:
        yield fault("autoload", f"{name}={config.foreign(name)}", "`import torch` alone does not make the device npu available, and shims are not loaded.",
                    f"unset {name}, or `import ascend_sim.npu` in your program.")
    if not off:
        yield ok("autoload", "on")


def _autoload() -> bool:
    try:
        return config.autoload()
    except ValueError:
        return True                                 # reported by `variables`


def host_isa(context: Context):
    levels = context.ask("library").value.get("levels")
    try:
        chosen = config.host_isa()
    except ValueError:
        return
    if levels and chosen != "auto" and chosen not in levels:
        yield fault("host_isa", f"ASCEND_SIM_HOST_ISA={chosen}, and this CPU offers {', '.join(levels)}.", "The device cannot be set up.",
                    "Choose one of these, or unset ASCEND_SIM_HOST_ISA.")


CHECKS = (variables, chip, backend, autoload, host_isa)
