# SPDX-License-Identifier: MIT
"""How `make` gets a Python environment: creates one, and installs only what is missing from it.

    python3 scripts/environment.py create .venv        a new environment
    .venv/bin/python scripts/environment.py install test demo   torch, the build tools and these groups of pyproject.toml
"""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH = "torch==2.13.0"
BUILD_TOOLS = ["setuptools>=77", "numpy>=1.26"]


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"ascend-sim needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}. "
                 "Choose another one with: make PYTHON3=/path/to/python3.11 ...")
    command, *arguments = sys.argv[1:] or [""]
    if command == "create" and len(arguments) == 1:
        create(arguments[0])
    elif command == "install":
        install(arguments)
    else:
        sys.exit(__doc__)


def create(folder: str) -> None:
    """A venv; one that sees the outer packages if a suitable torch is already among them."""
    options = ["--system-site-packages"] if has_torch() else []
    run("-m", "venv", *options, folder)


def install(groups: list[str]) -> None:
    import tomllib                     # here: an older Python must still reach main's message

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if not has_torch():
        pip(TORCH)
    wanted, without_dependencies = list(BUILD_TOOLS), []
    for group in groups:
        wanted += project["project"]["optional-dependencies"][group]
        without_dependencies += project["tool"]["ascend-sim"].get(f"{group}-no-deps", [])
    missing = [requirement for requirement in wanted if not is_installed(requirement)]
    if missing:
        pip(*missing)
    missing = [requirement for requirement in without_dependencies if not is_installed(requirement)]
    if missing:
        # tile-kernels declares Python 3.12 but runs on 3.11, as far as its Ascend path goes.
        pip("--no-deps", "--ignore-requires-python", *missing)


def has_torch() -> bool:
    """torch 2.13.* that really imports. Autoload is off: an ascend-sim left broken by an earlier build must not count."""
    code = "import torch, sys; sys.exit(not torch.__version__.startswith('2.13.'))"
    environment = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True).returncode == 0


def is_installed(requirement: str) -> bool:
    """Whether `name`, `name==x` or `name>=x` holds. No more of PEP 508 is used in pyproject.toml, and packaging may be absent."""
    name, operator, version = re.fullmatch(r"([\w.-]+?)(?:(==|>=)([\d.]+))?", requirement).groups()
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    if operator is None:
        return True
    return numbers(found) == numbers(version) if operator == "==" else numbers(found) >= numbers(version)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0]))


def pip(*arguments: str) -> None:
    run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *arguments)


def run(*arguments: str) -> None:
    print("+ python", " ".join(arguments), flush=True)
    result = subprocess.run([sys.executable, *arguments])
    if result.returncode:
        sys.exit(result.returncode)


if __name__ == "__main__":
    main()
