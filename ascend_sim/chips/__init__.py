# SPDX-License-Identifier: MIT
"""Which chips can be emulated, and what are their figures? One TOML file a bin, or a group of bins that differ in name only.

A constant is a table `{ value, unit, source, confidence, ... }`; a file may say `inherit = "<other>"` and give only what differs.
`load("950PR_9579")` returns a Chip: its constants as written, and as the flat numbers that the C++ side takes.
"""

import contextlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ascend_sim import arguments, config

CONFIDENCE = ("stated", "measured", "inferred", "assumed")
_KEYS = {"value", "unit", "source", "confidence", "also", "from", "note", "calibrated_on"}
_NOT_SIMULATED = ("peak",)          # tables that only people and benchmarks read
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Chip:
    name: str
    constants: dict[str, dict]      # "path.gm_to_l1.rate" -> {"value": 100, "unit": "B/cycle", ...}

    def __getitem__(self, name: str) -> float:
        return self.constants[name]["value"]

    def flat(self) -> dict[str, float]:
        """What ascend_sim._C.set_chip takes."""
        return {name: float(constant["value"]) for name, constant in self.constants.items()
                if name.split(".")[0] not in _NOT_SIMULATED}

    @property
    def hbm_bytes(self) -> int:
        return int(self["hbm.capacity"])


def names() -> list[str]:
    """Every bin that load() knows."""
    return sorted(_index())


def load(name: str) -> Chip:
    """A bin by name, or a file of one's own by path (ends in .toml).

    Raises: ValueError for an unknown name and for files that break the rules above; all faults of a file are listed together. TypeError
    for what is no str.
    """
    if not isinstance(name, str):
        raise TypeError(f"ascend_sim.chips.load: name is {arguments.shown(name)}; expected a str: one of {', '.join(names())}, or the path of a .toml file.")
    return _load(name)


def chosen() -> Chip:
    """The bin that ASCEND_SIM_CHIP names. Raises: ValueError that says so."""
    try:
        return _load(config.chip())
    except ValueError as error:
        raise ValueError(f"ASCEND_SIM_CHIP={config.chip()!r} cannot be used: {error}") from None


@cache
def _load(name: str) -> Chip:
    if name.endswith(".toml"):
        path = Path(name)
        with contextlib.suppress(RuntimeError):         # a ~ that means nobody's folder
            path = path.expanduser()
        if not path.is_file():
            raise ValueError(f"chip file {name!r} does not exist.")
        return Chip(path.stem, _constants(path))
    path = _FOLDER / f"{name}.toml"
    if not path.is_file():
        path = _index().get(name)
    if path is None:
        raise ValueError(f"chip {name!r} is not known; known: {', '.join(names())}; or the path of a .toml file.")
    return Chip(name, _constants(path))


@cache
def _index() -> dict[str, Path]:
    found = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        for name in tomllib.loads(path.read_text(encoding="utf-8")).get("names", [path.stem]):
            if name in found:
                raise ValueError(f"chip {name!r} is in two files: {found[name].name} and {path.name}.")
            found[name] = path
    return found


def _constants(path: Path, inheritors: tuple[Path, ...] = ()) -> dict[str, dict]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:              # not TOML, not UTF-8, not to be read
        raise ValueError(f"chip file {path.name}: {error}.") from None
    tables.pop("names", None)
    base_name = tables.pop("inherit", None)
    faults: list[str] = []
    own = dict(_walk(tables, "", faults))
    constants = {}
    if base_name is not None:
        base = path.parent / f"{base_name}.toml"
        if not base.is_file():
            base = _FOLDER / f"{base_name}.toml"
        if not base.is_file():
            faults.append(f"inherit: there is no {base_name}.toml beside it or among the built-in chips")
        elif base in inheritors:
            faults.append(f"inherit: {base_name} leads back to itself")
        else:
            constants = _constants(base, (*inheritors, path))
            faults += [f"{name}: not a constant of {base_name}" for name in own if name not in constants]
    if faults:
        raise ValueError(f"chip file {path.name}: " + "; ".join(faults) + ".")
    return constants | own


def _walk(tables: dict, prefix: str, faults: list[str]):
    for key, entry in tables.items():
        name = prefix + key
        if not isinstance(entry, dict):
            faults.append(f"{name}: {entry!r}; expected a table with value, unit, source and confidence")
        elif "value" in entry:
            faults += _faults_of(name, entry)
            yield name, entry
        else:
            yield from _walk(entry, name + ".", faults)


def _faults_of(name: str, constant: dict):
    value = constant["value"]
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        yield f"{name}: value {value!r}; expected a number, not negative"
    if not constant.get("unit"):
        yield f"{name}: no unit"
    if constant.get("confidence") not in CONFIDENCE:
        yield f"{name}: confidence {constant.get('confidence')!r}; accepted: {', '.join(CONFIDENCE)}"
    elif constant["confidence"] in ("stated", "measured") and not constant.get("source"):
        yield f"{name}: {constant['confidence']} without a source"
    elif constant["confidence"] in ("inferred", "assumed") and not (constant.get("from") or constant.get("note")):
        yield f"{name}: {constant['confidence']} without arithmetic (from) or reason (note)"
    yield from (f"{name}: unknown key {key!r}" for key in constant if key not in _KEYS)
