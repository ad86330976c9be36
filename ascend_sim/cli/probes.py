# SPDX-License-Identifier: MIT
"""What can only be found out by importing torch or loading our library? Asked in a process of its own: it may fail, crash or hang.

    run("device") -> Outcome(value={...}) or Outcome(error="OSError: ... undefined symbol ..")

The functions at the end are the questions; each returns what JSON can hold.
"""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from ascend_sim import config

ROOT = Path(__file__).resolve().parents[2]              # where this copy of the package lies
TIMEOUT_S = 180
_ALONE = {"torch_alone", "native", "tilelang"}          # asked without autoload: a fault of ours must not look like one of theirs

# The answer goes to the real stdout; whatever else is printed goes to stderr.
_START = """
import os, sys
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
if {root!r} not in sys.path:
    sys.path.insert(0, {root!r})
from ascend_sim.cli import probes
probes.answer({question!r}, answer)
"""


@dataclass
class Outcome:
    """value: the answer    error: why there is none, one sentence    detail: the end of what the process printed"""

    value: dict = field(default_factory=dict)
    error: str = ""
    detail: str = ""
    host_s: float = 0.0


class Asked:
    """A question under way."""

    def __init__(self, question: str):
        self._begin = time.perf_counter()
        code = _START.format(root=str(ROOT), question=question)
        changes = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if question in _ALONE else {}
        # -P: a stray file in the current folder is a fault of its own and must not hide the others.
        self._process = subprocess.Popen([sys.executable, "-P", "-c", code], env=config.environment_of_children(changes), text=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace")

    def outcome(self) -> Outcome:
        try:
            answer, printed = self._process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, printed = self._process.communicate()
            return Outcome(error=f"no answer within {TIMEOUT_S} s", detail=_end(printed), host_s=time.perf_counter() - self._begin)
        except BaseException:
            self._process.kill()
            raise
        host_s = time.perf_counter() - self._begin
        try:
            found = json.loads(answer)
            return Outcome(found.get("value", {}), found.get("error", ""), _end(printed), host_s)
        except (ValueError, AttributeError):
            status = self._process.returncode
            how = f"was ended by the signal {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            last = printed.strip().splitlines()[-1:] or [""]
            return Outcome(error=f"the process {how}" + (f": {last[0]}" if last[0] else ""), detail=_end(printed), host_s=host_s)


def run(question: str) -> Outcome:
    return Asked(question).outcome()


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-12:])


def answer(question: str, to) -> None:
    """In the child: asks, and writes {"value": ..} or {"error": ..}."""
    try:
        result = {"value": _QUESTIONS[question]()}
    except BaseException as error:
        first = (str(error).strip() or "no message").splitlines()
        result = {"error": f"{type(error).__name__}: {' '.join(first[:3])}"}
    to.write(json.dumps(result))
    to.close()
    sys.stderr.flush()
    os._exit(0)                             # exit handlers of what was half imported are of no interest


# ---- questions ---------------------------------------------------------------------------------------------------------------------------


def library() -> dict:
    """Can libascend_sim.so be loaded, what was it built from, and which SIMD levels does this CPU offer?"""
    import ctypes

    from ascend_sim.jit import built, host_compiler
    of_library = built.of_library()
    loaded = ctypes.CDLL(str(host_compiler.LIBRARY))
    loaded.ascend_host_level.restype = ctypes.c_char_p
    levels = [name for name in config.HOST_ISAS if name != "auto" and loaded.ascend_host_has_level(name.encode())]
    return {"path": str(host_compiler.LIBRARY), "build": of_library, "levels": levels, "level": loaded.ascend_host_level().decode()}


def torch_alone() -> dict:
    """Can torch be imported without any backend?"""
    begin = time.perf_counter()
    import torch
    return {"version": torch.__version__, "path": torch.__file__, "import_s": time.perf_counter() - begin, "threads": torch.get_num_threads(),
            "cuda": torch.version.cuda}


def native() -> dict:
    """Does our extension load into this torch?"""
    import torch  # noqa: F401

    from ascend_sim import _C
    return {"path": _C.__file__}


def device() -> dict:
    """What does `import torch` alone bring, and which devices and backends are there?"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import torch
    found = {"version": torch.__version__, "path": torch.__file__, "cuda": torch.version.cuda, "owner": torch._C._get_privateuse1_backend_name(),
             "warnings": [str(warning.message) for warning in caught if "ascend_sim" in str(warning.message)]}
    found["by_import_torch"] = found["owner"] == "npu" and "ascend_sim.npu" in sys.modules
    import ascend_sim.npu  # noqa: F401  the rest is of interest without autoload, too
    from ascend_sim import backends
    from ascend_sim.errors import AscendParityWarning
    warnings.simplefilter("ignore", AscendParityWarning)
    properties = torch.npu.get_device_properties(0)
    free, total = torch.npu.mem_get_info(0)
    found |= {"count": torch.npu.device_count(), "name": properties.name, "cube_cores": properties.cube_core_num, "vector_cores": properties.vector_core_num,
              "hbm_bytes": total, "hbm_free_bytes": free,
              "backends": {name: {"available": line.is_available, "reason": line.reason, "options": list(line.options)} for name, line in backends.listing().items()}}
    return found


def self_test() -> dict:
    """One GEMM on npu against fp32 on the CPU: its relative error, simulated and host time."""
    import torch

    import ascend_sim.npu  # noqa: F401
    import deep_gemm
    m, n, k = 256, 512, 1024
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(rows, k, generator=generator).bfloat16() for rows in (m, n))
    d = torch.full((m, n), float("nan"), dtype=torch.float32, device="npu")
    with ascend_sim.backends.use("ascend"), ascend_sim.mode("full"), ascend_sim.profile(timeline=False) as profile:
        begin = time.perf_counter()
        deep_gemm.bf16_gemm_nt(a.npu(), b.npu(), d)
        host_s = time.perf_counter() - begin
    expected = a.float() @ b.float().T
    record = next(record for record in profile.records if not record.is_estimate)
    return {"shape": [m, n, k], "error": ((d.cpu() - expected).abs().max() / expected.abs().max()).item(), "simulated_us": record.simulated_us,
            "host_s": host_s, "path": deep_gemm.__file__}


def tilelang() -> dict:
    import tilelang
    return {"version": tilelang.__version__, "path": tilelang.__file__}


_QUESTIONS = {function.__name__: function for function in (library, torch_alone, native, device, self_test, tilelang)}
