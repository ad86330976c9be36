# SPDX-License-Identifier: MIT
"""Do selections among constants come out right where the mask is a constant, too? g++ 12 folds some of them wrongly if it may."""

import pytest
import torch
from ascend_sim import jit

DTYPES = {8: torch.uint8, 16: torch.int16, 32: torch.int32}
COUNTS = [(width, count) for width in DTYPES for count in (1, 3, 4, 8, 12, 16, 20, 24, 31, 32, 36, 48, 63, 80, 112, 144, 224, 256) if count <= 2048 // width]
PATTERNS = [(width, count) for width in DTYPES for count in (1, 2, 3, 4, 8, 16, 32, 64, 128) if count <= 2048 // width]
SELECT = """{{
    {make}
    ascend::isa::Register<uint{w}_t> one, zero, chosen;
    asc_duplicate_scalar(one, uint{w}_t(1), asc_create_mask_b{w}(PAT_ALL));
    asc_duplicate_scalar(zero, uint{w}_t(0), asc_create_mask_b{w}(PAT_ALL));
    asc_select(chosen, one, zero, mask);
    asc_storealign((uint{w}_t*)(ub + {row} * 256), chosen, 0, asc_create_mask_b{w}(PAT_ALL));
}}
"""
KERNEL = """extern "C" __global__ __vector__ void masks(__gm__ uint8_t* out) {{
    uint8_t* ub = ascend::isa::ub_base();
    {body}
    asc_sync_notify(PIPE_V, PIPE_MTE3, 0);
    asc_sync_wait(PIPE_V, PIPE_MTE3, 0);
    asc_copy_ub2gm_align(out, ub, 1, {rows} * 256, asc_store_l2_cache_mode{{0}}, 0, 0);
}}
"""


@pytest.mark.parametrize("cases, make", [
    (COUNTS, "uint32_t count = {n}; auto mask = asc_update_mask_b{w}(count);"),
    (PATTERNS, "auto mask = asc_create_mask_b{w}(PAT_VL{n});"),
], ids=["counts", "patterns"])
def test_the_first_lanes_and_no_others(cases, make):
    body = "".join(SELECT.format(w=width, row=row, make=make.format(w=width, n=count)) for row, (width, count) in enumerate(cases))
    out = torch.full((len(cases), 256), 77, dtype=torch.uint8, device="npu")
    jit.compile(KERNEL.format(body=body, rows=len(cases)))[1](out)
    for (width, count), row in zip(cases, out.cpu()):
        lanes = row.view(DTYPES[width])
        assert torch.equal(lanes != 0, torch.arange(len(lanes)) < count), (width, count)
