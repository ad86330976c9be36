# SPDX-License-Identifier: MIT
"""Does each environment variable accept what docs/env.md says, and refuse the rest by naming it?"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ascend_sim import config

DOCUMENT = Path(__file__).parents[2] / "docs" / "env.md"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (*config.VARIABLES, "DJ_JIT_LAUNCH_TIMEOUT", "ASCEND_TOOLKIT_HOME", "CXX"):
        monkeypatch.delenv(name, raising=False)


def test_defaults():
    assert config.backend() == "ascend" and config.mode() == "full" and config.chip() == "950DT_9581" and config.host_isa() == "auto"
    assert config.strict() is False and config.autoload() is True and config.shims() == () and config.checks() == config.Checks()
    assert config.devices() == tuple(range(8)) and config.hbm_bytes() is None and config.threads() >= 1
    assert config.launch_timeout_s() == 300 and config.cache_dir().name == "ascend-sim"


@pytest.mark.parametrize("name, text, read, expected", [
    ("ASCEND_SIM_STRICT", "1", config.strict, True),
    ("ASCEND_SIM_STRICT", "off", config.strict, False),
    ("ASCEND_SIM_MODE", "timing", config.mode, "timing"),
    ("ASCEND_SIM_HBM_GB", "0.5", config.hbm_bytes, 2**29),
    ("ASCEND_SIM_THREADS", "7", config.threads, 7),
    ("ASCEND_SIM_CHECK", "memory", config.checks, config.Checks(memory=True)),
    *([("ASCEND_SIM_CHECK", "division, memory", config.checks, config.Checks(memory=True, division=True))] if platform.machine() == "x86_64" else []),
    ("ASCEND_SIM_SHIMS", "torch_npu, cuda", config.shims, ("torch_npu", "cuda")),
    ("ASCEND_RT_VISIBLE_DEVICES", "6,0-2", config.devices, (6, 0, 1, 2)),
    ("DG_JIT_LAUNCH_TIMEOUT", "0", config.launch_timeout_s, 0),
    ("DJ_JIT_LAUNCH_TIMEOUT", "9", config.launch_timeout_s, 9),
    ("ASCEND_SIM_MODE", "", config.mode, "full"),
])
def test_accepts(monkeypatch, name, text, read, expected):
    monkeypatch.setenv(name, text)
    assert read() == expected


@pytest.mark.parametrize("name, text, message", [
    ("ASCEND_SIM_STRICT", "maybe", "accepted: 0 or 1"),
    ("ASCEND_SIM_MODE", "fast", "accepted: full, functional, timing"),
    ("ASCEND_SIM_HBM_GB", "-1", "outside 0.001..65536"),
    ("ASCEND_SIM_HBM_GB", "nan", "not a number"),
    ("ASCEND_SIM_HBM_GB", "1e999", "outside 0.001..65536"),
    ("ASCEND_SIM_HBM_GB", "1e-12", "outside 0.001..65536"),
    ("ASCEND_SIM_THREADS", "1_0", "not a whole number"),
    ("ASCEND_SIM_CACHE_DIR", "~nobody-of-this-name/x", "there is no such user"),
    ("ASCEND_SIM_CXX", "g++ 'x", "cannot be split into words: No closing quotation"),
    ("ASCEND_RT_VISIBLE_DEVICES", "\u00b2", "not a device number: '\u00b2'"),
    ("ASCEND_RT_VISIBLE_DEVICES", "1-", "not a device number: '1-'"),
    ("TORCH_NPU_DEVICE_CAPABILITY", "9.x", "accepted: none, or two whole numbers"),
    ("ASCEND_SIM_SHIMS", "all,cuda", "unknown: 'all'); accepted: none, all, or a list of torch_npu, cuda, davinci, toolkit"),
    ("ASCEND_SIM_SHIMS", "torch_npu,", "unknown: ''"),
    ("ASCEND_SIM_HBM_GB", "lots", "not a number"),
    ("ASCEND_SIM_DEVICES", "0", "outside 1..127"),
    ("ASCEND_SIM_DEVICES", "128", "outside 1..127"),
    ("ASCEND_SIM_THREADS", "two", "not a whole number"),
    ("ASCEND_SIM_HOST_ISA", "sse", "portable, avx2, avx512, amx, neon"),
    ("ASCEND_SIM_CHECK", "bounds", "there is no check 'bounds'); accepted: none, or a list of memory, division, races"),
    ("ASCEND_SIM_CHECK", "memory, schedule:3", "there is no check 'schedule:3'"),
    ("ASCEND_SIM_TRACE", "/nowhere/at/all", "not a folder"),
    ("ASCEND_SIM_SHIMS", "torch_npu,npu", "unknown: 'npu'"),
    ("ASCEND_RT_VISIBLE_DEVICES", "0,x", "not a device number: 'x'"),
    ("ASCEND_RT_VISIBLE_DEVICES", "1,1", "named twice"),
    ("ASCEND_RT_VISIBLE_DEVICES", "3-1", "the range '3-1' ends before it begins"),
    ("ASCEND_RT_VISIBLE_DEVICES", "0-99999999999", "no machine has a device 99999999999: at most 127 devices"),
])
def test_refuses_and_names_what_is_accepted(monkeypatch, name, text, message):
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError) as caught:
        config.value(name)
    assert str(caught.value).startswith(f"{name}={text!r} is not understood") and message in str(caught.value)


@pytest.mark.parametrize("name, text, expected", [
    ("ASCEND_SIM_MODE", " FULL ", "full"), ("ASCEND_SIM_HOST_ISA", "Auto", "auto"), ("ASCEND_SIM_SHIMS", "ALL", config.SHIMS), ("ASCEND_SIM_SHIMS", "None", ()),
    ("ASCEND_SIM_SHIMS", "Torch_NPU,CUDA", ("torch_npu", "cuda")), ("ASCEND_SIM_CHECK", "MEMORY", config.Checks(memory=True)),
    ("ASCEND_SIM_CHECK", "Races, division", config.Checks(memory=True, division=True, races=True)),
    ("ASCEND_SIM_STRICT", "TRUE", True), ("ASCEND_SIM_HBM_GB", "AUTO", None), ("ASCEND_RT_VISIBLE_DEVICES", "ALL", None), ("ASCEND_SIM_TRACE", "NONE", None),
    ("ASCEND_SIM_CXX", "AUTO", None), ("TORCH_NPU_DEVICE_CAPABILITY", "None", None), ("TORCH_NPU_DEVICE_CAPABILITY", " 9 . 0 ", (9, 0)),
])
def test_words_may_be_written_in_any_case(monkeypatch, name, text, expected):
    monkeypatch.setenv(name, text)
    assert config.value(name) == expected


@pytest.mark.parametrize("name", config.VARIABLES)
def test_a_variable_that_is_empty_or_blank_counts_as_unset(monkeypatch, name):
    expected = config.value(name)
    for text in ("", "  ", "\t\n"):
        monkeypatch.setenv(name, text)
        assert config.value(name) == expected


ANYTHING = {"ASCEND_SIM_BACKEND", "ASCEND_SIM_CHIP", "ASCEND_SIM_CACHE_DIR", "ASCEND_SIM_CXX", "ASCEND_HOME_PATH", "MASTER_ADDR"}     # any text is a name


@pytest.mark.parametrize("name", [name for name in config.VARIABLES if name not in ANYTHING])
@pytest.mark.parametrize("text", ["?!", "-1", "99999999999999999999", "nan", "full,auto", "\u0661", "x" * 100_000])
def test_nonsense_is_an_error_that_names_variable_value_and_what_is_accepted(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError) as caught:
        config.value(name)
    assert str(caught.value).startswith(f"{name}={text!r} is not understood") and f"accepted: {config.VARIABLES[name].accepted}." in str(caught.value)


UNUSABLE = {"ASCEND_SIM_HOST_ISA": ("neon" if os.uname().machine == "x86_64" else "avx2", "cannot be used: .* is not supported by this machine; available here: .*portable.*, auto"),
            "ASCEND_SIM_CHIP": ("950XX", "cannot be used: chip '950XX' is not known; known: 950DT_950x, "),
            "ASCEND_SIM_BACKEND": ("cudnn", "is not known; known: ascend, cuda, torch")}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_can_only_be_judged_when_it_is_used_names_its_variable_then(name):
    text, message = UNUSABLE[name]
    code = "import ascend_sim.npu, torch, deep_gemm; x = torch.ones(1, 1, dtype=torch.bfloat16, device='npu'); deep_gemm.bf16_gemm_nt(x, x, x.clone())"
    result = subprocess.run([sys.executable, "-P", "-W", "ignore", "-c", code], capture_output=True, text=True, env=os.environ | {name: text})
    last = result.stderr.splitlines()[-1]
    assert result.returncode and re.match(f"ValueError: {name}={text!r} {message}", last), last


def test_visible_devices_must_exist(monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_DEVICES", "4")
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "3,4")
    with pytest.raises(ValueError, match="names 4; accepted: 0 to 3, since ASCEND_SIM_DEVICES is 4"):
        config.devices()


def test_all_that_is_wrong_is_said_at_once(monkeypatch):
    for name, text in {"ASCEND_SIM_MODE": "fast", "ASCEND_SIM_CHECK": "bounds", "ASCEND_RT_VISIBLE_DEVICES": "x", "WORLD_SIZE": "0"}.items():
        monkeypatch.setenv(name, text)
    assert [problem.partition("=")[0] for problem in config.problems()] == ["ASCEND_SIM_MODE", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_SIM_CHECK", "WORLD_SIZE"]
    with pytest.raises(ValueError) as caught:       # what the device raises: its own variables
        config.check()
    assert [line.partition("=")[0] for line in str(caught.value).splitlines()] == ["ASCEND_SIM_MODE", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_SIM_CHECK"]


def test_settings_say_where_a_value_comes_from(monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_MODE", "timing")
    monkeypatch.setenv("DJ_JIT_LAUNCH_TIMEOUT", "9")
    monkeypatch.setenv("CXX", "g++-12")
    found = {setting.name: setting for setting in config.settings()}
    assert list(found) == list(config.VARIABLES)
    assert (found["ASCEND_SIM_MODE"].text, found["ASCEND_SIM_MODE"].origin, found["ASCEND_SIM_MODE"].default) == ("timing", "ASCEND_SIM_MODE", "full")
    assert (found["DG_JIT_LAUNCH_TIMEOUT"].text, found["DG_JIT_LAUNCH_TIMEOUT"].origin) == ("9", "DJ_JIT_LAUNCH_TIMEOUT")
    assert (found["ASCEND_SIM_CXX"].text, found["ASCEND_SIM_CXX"].origin) == ("g++-12", "CXX")
    assert (found["ASCEND_SIM_CHIP"].text, found["ASCEND_SIM_CHIP"].origin) == ("950DT_9581", "default")


def test_misspelt_variables_are_noticed(monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_BACKENDS", "torch")
    monkeypatch.setenv("ASCEND_SIM_SOMETHING_ELSE", "1")
    assert config.unknown() == {"ASCEND_SIM_BACKENDS": "ASCEND_SIM_BACKEND", "ASCEND_SIM_SOMETHING_ELSE": None}


def test_document_lists_every_variable_with_its_default():
    rows = {line.split("`")[1]: line.split("|")[2].strip(" `") for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")}
    assert rows == {variable.name: variable.default for variable in config.VARIABLES.values()}


def test_nothing_else_reads_the_environment():
    root = Path(config.__file__).parents[1]
    readers = [path.relative_to(root) for package in ("ascend_sim", "deep_gemm") for path in (root / package).rglob("*.py")
               if any(word in path.read_text() for word in ("os.environ", "os.getenv"))]
    assert [str(path) for path in readers] == ["ascend_sim/config.py", "deep_gemm/testing/utils.py"]      # ignore_env removes a variable
