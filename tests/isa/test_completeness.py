# SPDX-License-Identifier: MIT
"""Is every name there that the TileLang wheel can emit, or refused by name? And the scopes of synchronisation that no recorded program uses."""

import re
from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit
from support.edges import KINDS, NEEDS, claimed, needed, spelled_out

ROOT = Path(__file__).parents[2]

# What the templates and the code generator of tilelang 0.1.15 can write, families spelled out: from the sources that the wheel carries.
EMITTED = """
asc_init asc_get_sub_block_id asc_load_dev asc_store_dev
asc_sync asc_sync_pipe asc_sync_notify asc_sync_wait asc_lock asc_unlock
asc_sync_{inter,subblock,block,intra}_{arrive,wait}
asc_copy_gm2ub_align asc_copy_ub2gm_align asc_copy_gm2l1_nd2nz asc_copy_gm2l1_dn2nz asc_set_gm2l1_nz_para asc_set_copy_pad_val asc_fill_l1 asc_copy_ub2l1
asc_set_atomic_{add,max,min}_{float,float16,bfloat,int8,int16,int32} asc_set_atomic_none
asc_copy_l12l0{a,b} asc_copy_l12l0{a,b}_transpose asc_copy_l12l0{a,b}_mx
asc_mmad asc_mmad_mx asc_set_mmad_direction_{m,n} asc_enable_hf32 asc_disable_hf32 asc_set_hf32_round_mode
asc_copy_l0c2ub asc_copy_l0c2gm asc_set_l0c_copy_nz_para
asc_create_mask_b{8,16,32} asc_update_mask_b{8,16,32} asc_{intlv,deintlv}_b{8,16,32} asc_update_addr_reg_b{8,16,32}
asc_loadalign asc_loadalign_{brc_elem,upsample,downsample,unpack,unpack4,brc_datablock,brc_elem2datablock,deintlv}
asc_loadalign_postupdate asc_loadalign_{brc_elem,upsample,downsample,unpack,unpack4,brc_datablock,brc_elem2datablock}_postupdate
asc_storealign asc_storealign_{1st,pack,pack_quarter,postupdate} asc_gather asc_gather_datablock asc_scatter asc_mem_bar
asc_{add,sub,mul,div,max,min,and,or,xor,not,shiftleft,shiftright,abs_sub,abs,neg,relu,exp,ln,sqrt,exp_sub,madd,mull,addc,subc,axpy,leakyrelu,prelu,select}
asc_{add,max,min,mul,shiftleft,shiftright}_scalar asc_{eq,ne,lt,le,gt,ge} asc_{eq,ne,lt,le,gt,ge}_scalar
asc_duplicate asc_duplicate_highest asc_duplicate_scalar asc_arange asc_arange_descend asc_intlv asc_deintlv
asc_pack_to_{low,high} asc_unpack_{lower,upper} asc_reduce_{sum,max,min} asc_reduce_{sum,max,min}_datablock asc_pair_reduce_sum asc_squeeze asc_unsqueeze
asc_{frequency,cumulative}_histogram_bin{0,1}
v{add,sub,mul,div,absdif,max,min,and,or,xor,shl,shr,ln,sqrt,abs,neg,relu,not,exp,dup,adds,maxs,mins,muls,shls,shrs,axpy,cadd,cmax,cmin,mula,madd,cvt}
asc_vf_call asc_syncthreads asc_threadfence asc_shfl_xor asc_ballot asc_activemask asc_reduce_add asc_atomic_{add,max,min}
"""
REFUSED = {"asc_storealign_intlv": "asc_storealign_intlv(ub, x, 0, m);"}


@pytest.fixture(scope="module")
def page_script():
    """The generator of docs/isa_coverage.md, which reads headers and tests."""
    import importlib.util
    spec = importlib.util.spec_from_file_location("make_isa_page", ROOT / "scripts" / "make_isa_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_every_name_that_tilelang_can_emit_is_defined(page_script):
    defined = {name for names in page_script.instructions().values() for name in names}
    names = [name for pattern in EMITTED.split() for name in spelled_out(pattern)]
    assert len(names) > 200 and [name for name in names if name not in defined] == []


def test_every_instruction_is_in_a_test_that_compares_values(page_script):
    """Faults, memory checks and this file's list name instructions without looking at what they compute. Synchronisation has no values:
    it is in pairs of kernels with and without it (test_faults.py), in the scopes below, and in the programs that were recorded.
    """
    not_values = {"test_completeness.py", "test_faults.py", "faulty_kernels.cpp", "test_memory_check.py", "checked_kernels.cpp"}
    tests = {name: {file for file in files if not file.startswith("recorded/")} - not_values for name, files in page_script.tests().items()}
    bare = {name for header, names in page_script.instructions().items() if header != "sync.h" for name in names if not tests.get(name)}
    assert not bare, sorted(bare)


def test_every_instruction_is_tested_at_its_edges(page_script):
    """support/edges.py says which edges an instruction has, marks on tests say which of them a test goes through."""
    claims, missing = claimed(ROOT / "tests" / "isa"), []
    defined = [(header, name) for header, names in page_script.instructions().items() for name in names]
    for header, name in defined:
        kinds, reason = needed(header, name)
        assert kinds <= set(KINDS) and bool(kinds) != bool(reason), (header, name)
        missing += [f"{name} ({header}): no test is marked @edges with its {kind}: {KINDS[kind]}" for kind in kinds - set(claims.get(name, ()))]
    assert not missing, "\n".join(sorted(missing))
    assert set(claims) <= {name for _, name in defined}, "marks name what is no instruction"
    assert {kind for kinds in claims.values() for kind in kinds} <= set(KINDS)
    unused = [pattern for pattern, *_ in NEEDS if not any(re.fullmatch(pattern, f"{header} {name}") for header, name in defined)]
    assert not unused, unused


@pytest.mark.parametrize("name", REFUSED)
def test_a_known_form_without_an_implementation_is_refused_by_name(name):
    text = f"""extern "C" __global__ __vector__ void k() {{
        auto* ub = reinterpret_cast<float*>(ascend::isa::ub_base());
        vector_f32 x;
        vector_bool m;
        {REFUSED[name]}
    }}"""
    with pytest.raises(ascend_sim.CompileError, match=f"{name} with one source register is known but not implemented"):
        jit.compile(text)


@pytest.mark.parametrize("element, call", [
    ("float8_e4m3_t", "asc_add(x, x, x, m);"), ("float8_e5m2_t", "asc_lt(m, x, x, m);"), ("float8_e8m0_t", "asc_reduce_max(x, x, m);"),
    ("float4_e2m1x2_t", "::vneg(x, x, m, MODE_MERGING);"), ("float4_e1m2x2_t", "asc_reduce_sum(x, x, m);"),
])
def test_codes_narrower_than_16_bits_are_not_computed_on(element, call):
    """They would be taken for integers: 1 + 1 was 128 in e4m3."""
    text = """extern "C" __global__ __vector__ void k() {
        auto* ub = reinterpret_cast<%s*>(ascend::isa::ub_base());
        ascend::isa::Register<%s> x, y;
        vector_bool m;
        asc_loadalign(x, ub, 0);
        %s
        asc_storealign(ub, x, 0, m);
    }"""
    with pytest.raises(ascend_sim.CompileError, match="static assertion failed.*the vector unit computes on integers, float, half and bfloat16_t"):
        jit.compile(text % (element, element, call))


def test_codes_narrower_than_16_bits_are_moved_and_combined():
    elements = ("float8_e4m3_t", "float8_e5m2_t", "float8_e8m0_t", "float4_e2m1x2_t", "float4_e1m2x2_t")
    jit.compile_all("".join(f"""extern "C" __global__ __vector__ void k_{element}() {{
        auto* ub = reinterpret_cast<{element}*>(ascend::isa::ub_base());
        ascend::isa::Register<{element}> x, y;
        vector_bool m = asc_create_mask_b8(PAT_ALL);
        asc_loadalign(x, ub, 0);
        asc_intlv(x, y, x, x);
        asc_or(x, x, y, m);
        asc_select(x, x, y, m);
        asc_squeeze(x, x, m);
        asc_duplicate(x, x, m);
        asc_storealign(ub, x, 0, m);
    }}
    """ for element in elements))


SCOPES = """
extern "C" __global__ __mix__(1, 2) void scopes(__gm__ int32_t* out, __gm__ int32_t* seen, int broken) {
    // The cube releases both vector cores; they write, meet, and each reads what the other wrote; then both release the cube.
    const int block = block_idx;
    if ASC_IS_AIC {
        asc_sync_block_arrive(PIPE_S, 3);
        asc_sync_block_wait(PIPE_S, 4);
        seen[3 * block] = out[2 * block] + out[2 * block + 1];
    }
    if ASC_IS_AIV {
        const int me = asc_get_sub_block_id();
        asc_sync_block_wait(PIPE_S, 3);
        out[2 * block + me] = 10 * (block + 1) + me;
        if (!(broken && me)) asc_sync_subblock_arrive(PIPE_S, 5);
        asc_sync_subblock_wait(PIPE_S, 5);
        seen[3 * block + 1 + me] = out[2 * block + 1 - me];
        asc_sync_block_arrive(PIPE_S, 4);
    }
}
"""


def test_scopes_of_synchronisation():
    kernel = jit.compile(SCOPES)
    out, seen = torch.zeros(8, dtype=torch.int32).npu(), torch.zeros(12, dtype=torch.int32).npu()
    kernel[4](out, seen, 0)
    assert seen.tolist() == [v for b in range(1, 5) for v in (20 * b + 1, 10 * b + 1, 10 * b)]
    with pytest.raises(ascend_sim.LaunchError, match="(?s)no core can continue.*asc_sync_block_wait waits for cross-core flag 4.*asc_sync_subblock_wait waits for cross-core flag 5"):
        kernel[1](out, seen, 1)
