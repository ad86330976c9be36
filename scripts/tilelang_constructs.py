# SPDX-License-Identifier: MIT
"""Which constructs of TileLang's Ascend language does no checked program use? Read from the wheel's language module and from the programs.

    python scripts/tilelang_constructs.py [--all]       # exit 1 if a construct of the Ascend dialect is used nowhere; --all lists where each is

Ours: tests/isa/programs, tests/tilelang, examples/tilelang. The kernels of the tile-kernels wheel, which tests/tilelang/tile_kernels runs, are named apart.
Needs tilelang 0.1.15 with its dependencies.
"""

import argparse
import ast
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ("tests/isa/programs", "tests/tilelang", "examples/tilelang")
# Not a construct of a program: classes of what a construct gives (frames, two results), and the base of the tile schedulers.
NOT_FOR_PROGRAMS = {"CubeFrame", "VectorFrame", "SimdVFFrame", "SimtVFFrame", "AscendBaseTileScheduler", "SimdPair"}
# Constructs of all targets that the Ascend code generator or its passes have a case for (src/ascend in the wheel).
SHARED = """Parallel Persistent Pipelined Tensor access_ptr activemask alloc_fragment alloc_local alloc_reducer alloc_var atomic_add atomic_max atomic_min
ballot ballot_sync cast clamp clear dynamic fill finalize_reducer if_then_else max min prim_func reducer_init reducer_update reinterpret reshape serial
sync_threads sync_warp view warp_reduce_max warp_reduce_min warp_reduce_sum""".split()


def constructs() -> dict[str, str]:
    """Name as a program writes it, e.g. "T.copy" or "T.simd.vadd" -> the module that defines it, for what the Ascend dialect defines itself, and SHARED."""
    from tilelang.ascend import language

    found = {f"T.{name}": "tilelang.language" for name in SHARED}
    for name in language.__all__:
        module = getattr(getattr(language, name), "__module__", "") or ""
        if module.startswith("tilelang.ascend") and name not in NOT_FOR_PROGRAMS:
            found[f"T.{name}"] = module
    for name, function in vars(language.simd).items():
        if callable(function) and not name.startswith("_") and name not in NOT_FOR_PROGRAMS and getattr(function, "__module__", "") == language.simd.__name__:
            found[f"T.simd.{name}"] = language.simd.__name__
    return found


def used_in(path: Path) -> set[str]:
    """Dotted names below the aliases of the language module: T.x, T.simd.x; S.x where S is its simd."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "S":
                names.add(f"T.simd.{node.attr}")
            elif isinstance(node.value, ast.Name) and node.value.id == "T":
                names.add(f"T.{node.attr}")
            elif isinstance(node.value, ast.Attribute) and node.value.attr == "simd":
                names.add(f"T.simd.{node.attr}")
    return names


def programs() -> dict[str, set[str]]:
    found = {str(path.relative_to(ROOT)): used_in(path) for folder in OURS for path in sorted((ROOT / folder).rglob("*.py"))}
    spec = importlib.util.find_spec("tile_kernels")
    if spec is not None:
        package = Path(spec.origin).parent
        found |= {f"wheel:{path.relative_to(package)}": used_in(path) for path in sorted(package.rglob("*_asc.py"))}
    return found


def users() -> dict[str, list[str]]:
    """Construct -> the programs that use it; those of the wheel begin with "wheel:"."""
    by_program = programs()
    return {name: [program for program, names in by_program.items() if name in names] for name in sorted(constructs())}


def unused() -> list[str]:
    """Constructs that no program of ours uses."""
    return [name for name, found in users().items() if all(user.startswith("wheel:") for user in found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="list every construct with the programs that use it")
    if parser.parse_args().all:
        for name, found in users().items():
            own = [user for user in found if not user.startswith("wheel:")]
            print(f"{name:32} {', '.join(own) or '-'}; {len(found) - len(own)} kernels of tile-kernels")
    if missing := unused():
        sys.exit(f"used by no checked program: {', '.join(missing)}")


if __name__ == "__main__":
    main()
