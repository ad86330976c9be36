# SPDX-License-Identifier: MIT
"""What is installed here, on which host, and what is emulated?

Version, host (CPU, SIMD levels, compiler), PyTorch, the emulated chip and its main figures, devices, memory, backends, and every
environment variable with its value, its default and where the value comes from.
"""

import argparse
import json
import platform
import sys

import ascend_sim
from ascend_sim import chips, config
from ascend_sim.cli import host, probes
from ascend_sim.cli.text import columns, size

HELP = "what is installed, on which host, what is emulated, and every setting"

# constant of the chip file -> how it is shown
_FIGURES = {
    "cores.ai_cores": ("AI cores", "{:.0f}, each of one cube and two vector cores", 1), "clock.frequency": ("clock", "{:.2f} GHz", 1e9),
    "hbm.capacity": ("HBM", "{:.0f} GB", 1e9), "hbm.bandwidth": ("HBM, bandwidth", "{:.2f} TB/s", 1e12), "l2.capacity": ("L2", "{:.0f} MiB", 2**20),
    "l2.bandwidth": ("L2, bandwidth", "{:.2f} TB/s", 1e12), "peak.bf16": ("peak, bf16", "{:.0f} TFLOP/s", 1e12),
    "peak.fp8": ("peak, fp8", "{:.0f} TFLOP/s", 1e12), "peak.fp4": ("peak, fp4", "{:.0f} TFLOP/s", 1e12),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON instead of text")


def main(arguments: argparse.Namespace) -> int:
    found = collect()
    print(json.dumps(found, indent=1) if arguments.json else as_text(found))
    return 0


def collect() -> dict:
    """Everything, as JSON can hold it. What cannot be found out is {"error": why}."""
    asked = {question: probes.Asked(question) for question in ("device", "library")}
    answers = {question: _answer(one.outcome()) for question, one in asked.items()}
    device, library = answers["device"], answers["library"]
    return {
        "ascend_sim": {"version": ascend_sim.__version__, "path": str(probes.ROOT / "ascend_sim"), "library": library.get("path"), "library_build": library.get("build"),
                       **({"error": library["error"]} if "error" in library else {})},
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "host": {"system": f"{platform.system()} {platform.release()} {platform.machine()}", "cpu": host.cpu_model(), "usable_cpus": host.usable_cpus(),
                 "simd_levels": library.get("levels", []), "simd_level": library.get("level"),
                 "memory_bytes": host.memory().get("MemTotal", 0), "available_bytes": host.available_bytes(), "compiler": _compiler()},
        "torch": {key: device[key] for key in ("version", "path", "cuda", "by_import_torch", "warnings", "error") if key in device},
        "chip": _chip(),
        "devices": {key: device[key] for key in ("count", "name", "cube_cores", "vector_cores", "hbm_bytes", "hbm_free_bytes", "error") if key in device},
        "backends": device.get("backends") or {"error": device.get("error", "")},
        "settings": [vars(setting) for setting in config.settings()],
        "unknown_settings": config.unknown(),
    }


def _answer(outcome: probes.Outcome) -> dict:
    return {"error": outcome.error} if outcome.error else outcome.value


def _compiler() -> dict:
    from ascend_sim.jit import host_compiler
    try:
        return {"found": str(host_compiler.find())}
    except (RuntimeError, ValueError) as error:
        return {"error": str(error)}


def _chip() -> dict:
    try:
        chip = chips.load(config.chip())
    except ValueError as error:
        return {"error": str(error)}
    return {"name": chip.name, "figures": {name: {"value": chip[name], "confidence": chip.constants[name]["confidence"]} for name in _FIGURES if name in chip.constants},
            "known": chips.names()}


def as_text(found: dict) -> str:
    this, machine, torch, chip, devices = found["ascend_sim"], found["host"], found["torch"], found["chip"], found["devices"]
    compiler = machine["compiler"]
    sections = [(f"ascend-sim {this['version']}", columns([
        ("package", this["path"]), ("library", this.get("error") or f"{this['library']} ({this['library_build']})"),
        ("Python", f"{found['python']['version']}, {found['python']['executable']}"),
        ("PyTorch", torch.get("error") or f"{torch['version']}, {torch['path']}"),
        ("device npu", "not available: " + torch["error"] if "error" in torch else "by `import torch` alone" if torch["by_import_torch"]
         else "after `import ascend_sim.npu`, not by `import torch` alone")])),
        ("Host", columns([
            ("system", machine["system"]), ("CPU", f"{machine['cpu']}, {machine['usable_cpus']} usable"),
            ("SIMD levels", f"{', '.join(machine['simd_levels'])}; in use: {machine['simd_level']}" if machine["simd_level"] else "unknown"),
            ("memory", f"{size(machine['available_bytes'])} available of {size(machine['memory_bytes'])}"),
            ("compiler", compiler.get("found") or compiler["error"])])),
        ("Chip " + chip.get("name", ""), "  " + chip["error"] if "error" in chip else columns(
            [(label, pattern.format(entry["value"] / unit), entry["confidence"])
             for name, (label, pattern, unit) in _FIGURES.items() if (entry := chip["figures"].get(name))])),
        ("Devices", "  " + devices["error"] if "error" in devices else columns([
            ("npu", f"{devices['count']} x {devices['name']}"), ("cores of each", f"{devices['cube_cores']} cube, {devices['vector_cores']} vector"),
            ("memory of each", f"{size(devices['hbm_bytes'])}, host memory taken as it is used")])),
        ("Backends", "  " + found["backends"]["error"] if "error" in found["backends"] else columns(
            [(", ".join([name, *(f"{name}:{option}" for option in line["options"])]), "available" if line["available"] else "missing", line["reason"])
             for name, line in found["backends"].items()])),
        ("Settings (docs/env.md)", columns([("variable", "value", "default", "from"), *(
            (setting["name"], setting["text"], setting["default"] if setting["text"] != setting["default"] else "",
             setting["origin"] + ("   NOT ACCEPTED" if setting["problem"] else "")) for setting in found["settings"])])),
    ]
    wrong = [setting["problem"] for setting in found["settings"] if setting["problem"]]
    wrong += [f"{name} is not a variable of ascend-sim" + (f"; {near} is" if near else "") + "." for name, near in found["unknown_settings"].items()]
    if wrong:
        sections.append(("Not accepted", "\n".join(f"  {line}" for line in wrong)))
    return "\n\n".join(f"{title.strip()}\n{text}" for title, text in sections)
