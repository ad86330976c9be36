# SPDX-License-Identifier: MIT
"""How far are simulated times from published ones? A module an operation, in a folder a package; `ascend-sim bench` runs them.

A module has ROWS, a list of report.Row; its name below this package is the benchmark's: deep_gemm.bf16_gemm. Its docstring's first
line is what `ascend-sim bench --list` says. The package's __init__ may have GROUPS, the order in which groups are shown.
published_performance.json has the published figures, those whose kernels do not exist yet, too.
"""

import importlib
import pkgutil

from ascend_sim.bench import report


def names() -> list[str]:
    """Every benchmark. Imports nothing of them."""
    return [f"{package.name}.{module.name}" for package in pkgutil.iter_modules(__path__) if package.ispkg
            for module in pkgutil.iter_modules([f"{__path__[0]}/{package.name}"]) if not module.name.startswith("_")]


def select(wanted: list[str]) -> list[str]:
    """The benchmarks meant: by full name, by package ("deep_gemm"), or all if none is named.

    Raises: ValueError that lists the known ones.
    """
    known = names()
    unknown = [name for name in wanted if not any(_means(name, other) for other in known)]
    if unknown:
        packages = sorted({name.partition(".")[0] for name in known})
        raise ValueError(f"there is no benchmark {', '.join(map(repr, unknown))}; known: {', '.join(known)}, "
                         f"or all of a package: {', '.join(packages)}.")
    return [name for name in known if not wanted or any(_means(other, name) for other in wanted)]


def _means(wanted: str, name: str) -> bool:
    return name == wanted or name.startswith(wanted + ".")


def module(name: str):
    return importlib.import_module(f"{__name__}.{name}")


def rows(chosen: list[str]) -> list[report.Row]:
    """The rows of those benchmarks, package by package, group by group."""
    found = [(name.partition(".")[0], row) for name in chosen for row in module(name).ROWS]
    packages = list(dict.fromkeys(package for package, _ in found))

    def place(entry: tuple[str, report.Row]):
        package, row = entry
        order = getattr(importlib.import_module(f"{__name__}.{package}"), "GROUPS", ())
        return packages.index(package), order.index(row.group) if row.group in order else len(order), row.run is None
    return [row for _, row in sorted(found, key=place)]
