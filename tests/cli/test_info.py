# SPDX-License-Identifier: MIT
"""Does `ascend-sim info` show everything, also where torch or the library cannot be loaded?"""

import json

from ascend_sim import backends, chips, cli, config
from ascend_sim.cli import probes


def test_everything_is_there(capsys, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_DEVICES", "3")
    assert cli.main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["devices"]["count"] == 3 and found["devices"]["hbm_bytes"] == chips.load("950DT_9581").hbm_bytes and found["devices"]["vector_cores"] == 64
    assert set(found["backends"]) == set(backends.available()) and found["backends"]["ascend"]["available"]
    assert found["host"]["simd_level"] in found["host"]["simd_levels"] and found["host"]["memory_bytes"] > found["host"]["available_bytes"] > 0
    assert found["torch"]["version"].startswith("2.13.") and found["chip"]["figures"]["cores.ai_cores"]["value"] == 32
    assert {setting["name"]: setting["origin"] for setting in found["settings"]}["ASCEND_SIM_DEVICES"] == "ASCEND_SIM_DEVICES"


def test_it_says_why_where_torch_and_the_library_cannot_be_loaded(capsys, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_MODE", "fast")
    monkeypatch.setenv("ASCEND_SIM_BACKENDS", "torch")
    monkeypatch.setattr(probes, "Asked", lambda question: type("Asked", (), {"outcome": lambda self: probes.Outcome(error=f"OSError: {question} is broken")})())
    assert cli.main(["info"]) == 0
    said = capsys.readouterr().out
    assert "OSError: device is broken" in said and "OSError: library is broken" in said and "Chip 950DT_9581" in said
    assert all(name in said for name in config.VARIABLES)
    assert "NOT ACCEPTED" in said and "accepted: full, functional, timing" in said and "ASCEND_SIM_BACKENDS is not a variable of ascend-sim; ASCEND_SIM_BACKEND is." in said
