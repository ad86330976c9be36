# SPDX-License-Identifier: MIT
"""ASCEND_SIM_CHECK=races on text that TileLang generates: is each of its flags missed when it is taken out?"""

import importlib.util
import re
from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit
from ascend_sim.toolkit.rewrite import rewrite
from support.launches import races_looked_for

N = 8192                                    # two tiles a core
# flag: who comes too early without it
FLAGS = {"MTE2->V": "V: asc_loadalign", "V->MTE2": "MTE2: asc_copy_gm2ub_align", "V->MTE3": "MTE3: asc_copy_ub2gm_align", "MTE3->MTE2": "MTE2: asc_copy_gm2ub_align"}
FLAG = re.compile(r"asc_sync_(?:notify|wait)\(PIPE_(\w+), PIPE_(\w+), static_cast<event_t>\(0\)\);")


@pytest.fixture(scope="module")
def text(load_programs):
    return load_programs("programs").vector_add("tvm_ffi")(N).get_kernel_source()


@pytest.fixture
def run():
    templates = Path(importlib.util.find_spec("tilelang").submodule_search_locations[0]) / "src"
    a, b = torch.randn(2, N, generator=torch.Generator().manual_seed(1))

    def compile_and_launch(text):
        kernel = jit.compile(rewrite(text).source, "vector_add_kernel", "vector", include_dirs=[templates], flags=["-w"])
        c = torch.full((N,), torch.nan).npu()
        kernel[4](a.npu(), b.npu(), c)
        assert c.cpu().equal(a + b)
    with races_looked_for():
        yield compile_and_launch


@pytest.mark.tilelang
def test_its_flags_are_all_there(text, run):
    assert {f"{match[1]}->{match[2]}" for match in FLAG.finditer(text)} == set(FLAGS)
    run(text)


@pytest.mark.tilelang
@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_that_is_taken_out_is_missed(text, run, flag):
    without = FLAG.sub(lambda match: ";" if f"{match[1]}->{match[2]}" == flag else match[0], text)
    with pytest.raises(ascend_sim.LaunchError, match=rf"{FLAGS[flag]}: a race on UB0 .*nothing orders the two; a flag {flag} would     vector_add_kernel\.cpp:\d+"):
        run(without)
