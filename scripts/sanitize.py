# SPDX-License-Identifier: MIT
"""Runs tests on a build that AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer watch; needs g++ on Linux.

    python scripts/sanitize.py [--quick] [--jobs N] [arguments of pytest]

The build goes to build/sanitize and leaves the ordinary one alone. Emulated HBM outside live tensors is poisoned there, fibers are
announced, on-chip memories lie between guard pages (csrc/chip/sanitizer.h). Whole: library at every vector level and the extension.
--quick: kernels at the portable level only, and the ordinary extension, which must have been built.

Fails if the tests fail, if a sanitizer reports an error, or if memory is leaked that our own code allocated: the reports of what
Python, torch and numpy never free are counted and left out. A suppression file could not tell them apart, since Python's frames
are at the bottom of every stack.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "sanitize"
TREE, REPORTS = FOLDER / "tree", FOLDER / "reports"
CHECKS = ("-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")
OURS = re.compile(r"libascend_sim\.so|ascend_sim/_C\.so|/csrc/")
# A freed tensor read by the host's copy routine: what is worth reporting must be reported.
BREAK_A_RULE = """
import ctypes, torch, ascend_sim
x = torch.zeros(64, 64, dtype=torch.uint8).npu()
address, out = x.data_ptr(), ctypes.create_string_buffer(64 * 64)
del x
library = ctypes.CDLL(f"{ascend_sim.__path__[0]}/lib/libascend_sim.so")
library.ascend_host_nd2nz(out, ctypes.c_void_p(address), 64, 32, ctypes.c_int64(64), ctypes.c_int64(1), ctypes.c_int64(64))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="portable kernels, ordinary extension")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="compilers side by side")
    options, pytest_arguments = parser.parse_known_args()
    compile_everything(options.quick, options.jobs)
    if not any("use-after-poison" in report for report in run(sys.executable, "-P", "-c", BREAK_A_RULE)[1]):
        sys.exit("sanitize: a read of a freed tensor went unnoticed; the sanitizer does not see this build")
    status, reports = run(sys.executable, "-P", "-m", "pytest", "-q", "-o", "faulthandler_timeout=3600",
                          *(pytest_arguments or ["tests/fuzz"]))
    faults, ignored = judge(reports)
    print(f"sanitize: {len(faults)} faults; {ignored} leaks of Python, torch and numpy left out", flush=True)
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(status or bool(faults))


def compile_everything(quick: bool, jobs: str) -> None:
    for package in (path.parent.name for path in ROOT.glob("*/__init__.py")):
        shutil.copytree(ROOT / package, TREE / package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("lib", "*.so", "__pycache__"))
    if not (TREE / "csrc").exists():
        (TREE / "csrc").symlink_to(ROOT / "csrc")        # where kernels compiled at run time find their headers
    settings = [f"OBJ={FOLDER}/{'quick' if quick else 'whole'}", f"OUT={TREE}/ascend_sim", f"SANITIZE={CHECKS}", "OPT=-O1 -g1",
                "HOST_OPT=-O1", f"PYTHON={sys.executable}", *(["VEC_LEVELS=portable"] if quick else [])]
    for library in (TREE / "ascend_sim").glob("**/*.so"):        # of the other kind, perhaps; linking is quick
        library.unlink()
    subprocess.run(["make", "-s", "-C", str(ROOT / "csrc"), f"-j{jobs}", *settings, "lib", *([] if quick else ["torch"])], check=True)
    if quick:
        shutil.copy(ROOT / "ascend_sim" / "_C.so", TREE / "ascend_sim")


def run(*command: str) -> tuple[int, list[str]]:
    """Exit status and what the sanitizers wrote."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    # The runtimes must come first in the process, and libstdc++ with them, or exceptions are not followed.
    preload = [runtime(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(preload), "PYTHONPATH": str(TREE),
        "PYTHONMALLOC": "malloc",                       # Python's own arenas would hide what it refers to
        "ASAN_OPTIONS": f"detect_leaks=1:log_path={REPORTS}/asan",
        "LSAN_OPTIONS": "exitcode=0",                   # judge() decides
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:log_path={REPORTS}/ubsan",
    }
    status = subprocess.run(command, cwd=ROOT, env=environment).returncode
    return status, [path.read_text(errors="replace") for path in sorted(REPORTS.iterdir())]


def runtime(name: str) -> str:
    compiler = os.environ.get("CXX", "g++").split()[-1]
    path = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"sanitize: {compiler} has no {name}; accepted: a g++ with its sanitizer runtimes (they come with libgcc's development files)")
    return path


def judge(reports: list[str]) -> tuple[list[str], int]:
    """(errors, and leaks that our code allocated; number of other leaks)"""
    faults, ignored = [], 0
    for report in reports:
        if "LeakSanitizer: detected memory leaks" not in report:
            faults += [report] if report.strip() else []
            continue
        for leak in re.findall(r"^(?:Direct|Indirect) leak of .*?(?=^\s*$|\Z)", report, re.MULTILINE | re.DOTALL):
            if OURS.search(leak):
                faults.append(leak)
            else:
                ignored += 1
    return faults, ignored


if __name__ == "__main__":
    main()
