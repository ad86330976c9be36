# SPDX-License-Identifier: MIT
"""Is docs/isa_coverage.md what the sources say, and is there a test for every instruction that leaves a record?"""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    if shutil.which("g++") is None:
        pytest.skip("no g++, whose preprocessor reads the headers")
    spec = importlib.util.spec_from_file_location("make_isa_page", ROOT / "scripts" / "make_isa_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(script):
    assert script.PAGE.read_text() == script.page(), "run: python scripts/make_isa_page.py"


def test_the_page_finds_what_headers_and_macros_define(script):
    defined = script.instructions()
    assert {"asc_mmad", "asc_mmad_mx"} <= set(defined["cube.h"])
    assert {"asc_set_atomic_add_float", "asc_copy_gm2l1_nd2nz"} <= set(defined["dma.h"])
    assert {"asc_add", "asc_eq_scalar"} <= set(defined["simd_arithmetic.h"])


def test_records_name_the_pipe_and_path_they_use(script):
    known = script.records()
    assert script.pipe_and_path("load.h", "asc_copy_l12l0b_transpose", known) == ("MTE1", "l1_to_l0b_transposed")
    assert script.pipe_and_path("fixpipe.h", "asc_copy_l0c2ub", known) == ("FIX", "l0c_to_ub, l0c_to_ub_dual")
    assert script.pipe_and_path("cube.h", "asc_enable_hf32", known) == ("S", "none")


def test_every_instruction_beside_the_vector_ones_is_in_a_test(script):
    defined, tested = script.instructions(), script.tests()
    headers = ("sync.h", "dma.h", "load.h", "img2col.h", "cube.h", "fixpipe.h")
    assert [name for header in headers for name in defined[header] if name not in tested] == []
