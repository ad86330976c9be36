# SPDX-License-Identifier: MIT
"""How the C++ parts get into the wheel: csrc/Makefile builds them in the tree, this copies them along with the headers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
# What a kernel compiled at run time may include, besides the public names in csrc/include.
HEADER_FOLDERS = ("isa", "chip", "formats", "host", "toolkit")


class BuildPyAndNative(build_py):
    """make, then the Python files, then the headers. Objects stay in build/obj, so a second build only compiles what changed."""

    def run(self):
        jobs = os.environ.get("MAX_JOBS") or str(len(os.sched_getaffinity(0)))
        subprocess.check_call(
            ["make", "-C", str(ROOT / "csrc"), f"-j{jobs}", f"PYTHON={sys.executable}", "lib", "torch"]
        )
        if not self.editable_mode:
            # setuptools never deletes from here: a module removed from the tree would be installed for ever.
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            self.copy_headers(Path(self.build_lib) / "ascend_sim" / "include")

    def copy_headers(self, target: Path) -> None:
        shutil.copytree(ROOT / "csrc" / "include", target, dirs_exist_ok=True)
        for folder in HEADER_FOLDERS:
            for header in (ROOT / "csrc" / folder).rglob("*.h"):
                copy = target / header.relative_to(ROOT / "csrc")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(header, copy)


class PlatformDistribution(Distribution):
    """There is native code, though no Extension object says so: the wheel must be tagged for this platform."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildPyAndNative}, distclass=PlatformDistribution)
