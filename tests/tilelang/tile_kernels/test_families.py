# SPDX-License-Identifier: MIT
"""Is every kernel family of the wheel run by a test in this folder? By the text of both: which function of the wheel launches which kernel."""

import ast
import importlib
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("engram", "mhc", "moe", "quant", "rand", "transform")


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def used_by_tests():
    return {name for test in HERE.glob("test_*.py") if test != Path(__file__) for name in names_in(ast.parse(test.read_text()))}


def test_every_public_function_is_called(tk):
    used = used_by_tests()
    for package in PACKAGES:
        for name, function in vars(getattr(tk, package)).items():
            is_public = callable(function) and not name.startswith("_") and getattr(function, "__module__", "").startswith(f"tile_kernels.{package}")
            assert not is_public or name in used, f"{package}.{name}"


def test_every_kernel_family_is_launched(tk):
    """A family is a factory: a function of a file *_asc.py that TileLang compiles. The functions around it call each other."""
    factories, calls = set(), {}
    for source in Path(tk.__file__).parent.rglob("*.py"):
        if "cuda" in source.name or source.parent.name in ("torch", "testing"):
            continue
        for function in ast.walk(ast.parse(source.read_text())):
            if isinstance(function, ast.FunctionDef):
                calls.setdefault(function.name, set()).update(names_in(function))
                if source.name.endswith("_asc.py") and any(ast.unparse(d).startswith("tilelang.jit") for d in function.decorator_list):
                    factories.add(function.name)
    assert len(factories) == 47
    reached, new = set(), used_by_tests() & calls.keys()
    while new:
        reached |= new
        new = {name for function in new for name in calls[function] if name in calls} - reached
    assert factories <= reached, sorted(factories - reached)


def test_the_wheel_is_the_one_that_these_tests_are_for(tk):
    assert importlib.import_module("tile_kernels._version").__version__ == "2.1.0"
