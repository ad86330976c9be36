# SPDX-License-Identifier: MIT
"""Is every kernel family of the wheel called by a test in this folder? By the names of its public functions."""

import ast
from pathlib import Path

HERE = Path(__file__).parent


def test_every_public_function_is_called(tk):
    called = set()
    for test in HERE.glob("test_*.py"):
        called |= {node.func.attr for node in ast.walk(ast.parse(test.read_text())) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    missing = []
    for package in ("engram", "mhc", "moe", "quant", "rand", "transform"):
        module = getattr(tk, package)
        for name, function in vars(module).items():
            if callable(function) and not name.startswith("_") and getattr(function, "__module__", "").startswith(f"tile_kernels.{package}") and name not in called:
                missing.append(f"{package}.{name}")
    # Aliases and variants of what is called.
    assert set(missing) <= {"moe.moe_topk_gate", "quant.per_token_cast_back", "quant.per_block_cast_with_sf_only", "quant.per_block_cast_with_precomputed_sf",
                            "quant.unpack_from_e2m1fn_x2"}, missing
