# SPDX-License-Identifier: MIT
"""Do chip files say all that the library needs, with sources, and does the library hold the same figures?"""

import importlib.util
from pathlib import Path

import pytest
from ascend_sim import chips
from support.chip import Chip

ROOT = Path(__file__).resolve().parents[2]
BINS = {        # ascend950.md 1.2: cores, MB of L2
    **dict.fromkeys(("950DT_95A1", "950DT_95A2", "950DT_9591", "950DT_9592", "950DT_9595", "950DT_9596", "950PR_9599"), (36, 128)),
    **dict.fromkeys(("950DT_9581", "950DT_9582", "950DT_9585", "950DT_9586", "950PR_9589"), (32, 128)),
    **dict.fromkeys(("950DT_9583", "950DT_9584", "950DT_9587", "950DT_9588", "950PR_958b"), (32, 112)),
    **dict.fromkeys(("950DT_9571", "950DT_9572", "950DT_9575", "950DT_9576", "950PR_9579"), (28, 128)),
    **dict.fromkeys(("950DT_9573", "950DT_9574", "950DT_9577", "950DT_9578", "950PR_957b", "950PR_957c"), (28, 112)),
    "950PR_957d": (28, 96), "950PR_950z": (4, 16), "950DT_950x": (8, 32), "950DT_950y": (8, 32),
}


def test_every_published_bin_is_there():
    assert chips.names() == sorted(BINS)


@pytest.mark.parametrize("name", sorted(BINS))
def test_every_bin_loads_into_the_library(name):
    chip = chips.load(name)
    library = Chip.made_from(name, chip.flat())
    assert (library["cores.ai_cores"], library["l2.capacity"]) == (BINS[name][0], BINS[name][1] * 2**20)
    assert library["hbm.bandwidth"] == (1.6e12 if name.startswith("950PR") else 3.5e12)


def test_the_built_in_chip_is_the_default_file():
    flat, built_in = chips.load("950DT_9581").flat(), Chip()
    assert {name: built_in[name] for name in flat} == flat


def test_every_constant_of_the_library_is_in_the_file_or_zero():
    flat, built_in = chips.load("950DT_9581").flat(), Chip()
    assert not [name for name in Chip.names() if name not in flat and built_in[name] != 0]


def test_the_generated_source_is_up_to_date():
    script = ROOT / "scripts" / "make_chip_default.py"
    spec = importlib.util.spec_from_file_location("make_chip_default", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for file, text in module.texts().items():
        assert (ROOT / "csrc/chip" / file).read_text(encoding="utf-8") == text, f"run python {script.relative_to(ROOT)}"


@pytest.mark.parametrize("name", sorted(chips.load("950DT_9581").constants))
def test_every_constant_has_unit_and_origin(name):
    constant = chips.load("950DT_9581").constants[name]
    assert constant["unit"]
    assert constant["confidence"] in chips.CONFIDENCE
    assert constant.get("source") or constant.get("from") or constant.get("note")


def test_derived_peaks_follow_from_their_parts():
    chip = chips.load("950DT_9581")
    for name, macs in (("bf16", "bf16"), ("fp8", "e4m3"), ("fp4", "e2m1")):
        peak = chip["cores.ai_cores"] * chip[f"cube.macs.{macs}"] * 2 * chip["clock.frequency"]
        assert chip[f"peak.{name}"] == pytest.approx(peak, rel=1e-3)


def test_the_library_lists_all_missing_and_unknown_names_at_once():
    flat = chips.load("950DT_9581").flat()
    del flat["l2.capacity"], flat["path.gm_to_l1.rate"]
    flat["l2.colour"] = 1
    with pytest.raises(ValueError, match=r"chip X: missing: l2.capacity, path.gm_to_l1.rate. unknown: l2.colour."):
        Chip.made_from("X", flat)


def test_an_unknown_bin_is_refused_by_listing_the_known_ones():
    with pytest.raises(ValueError, match="chip '950XX' is not known; known: 950DT_950x, "):
        chips.load("950XX")


def test_a_file_of_ones_own_inherits(tmp_path):
    path = tmp_path / "fast.toml"
    path.write_text('inherit = "950DT_9581"\n[clock]\nfrequency = { value = 2e9, unit = "Hz", confidence = "assumed", note = "what if" }\n')
    chip = chips.load(str(path))
    assert (chip.name, chip["clock.frequency"], chip["cores.ai_cores"]) == ("fast", 2e9, 32)


def test_all_faults_of_a_file_are_listed_together(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('inherit = "950DT_9581"\n[clock]\nfrequency = 2e9\n[l2]\n'
                    'capacity = { value = -1, unit = "B", confidence = "guess" }\nname = { value = 1, unit = "x", source = "y", confidence = "stated" }\n')
    with pytest.raises(ValueError) as error:
        chips.load(str(path))
    for part in ("clock.frequency: 2000000000.0; expected a table", "l2.capacity: value -1", "confidence 'guess'", "l2.name: not a constant of 950DT_9581"):
        assert part in str(error.value)
