# SPDX-License-Identifier: MIT
"""The stand-in torch_npu has what clients touch, under the names they use, and tells the truth about the rest."""

import gc
import importlib
import importlib.util
import math
import struct
import sys
from pathlib import Path

import ascend_sim
import deep_gemm
import pytest
import torch
from ascend_sim.compat import _cuda


def test_it_is_found_as_a_package_and_its_npu_is_torch_npu(torch_npu):
    assert importlib.util.find_spec("torch_npu").origin == torch_npu.__file__ and torch_npu.__version__.startswith("2.13")
    assert torch_npu.npu is torch.npu is importlib.import_module("torch_npu.npu")
    for name in ("amp", "memory", "random", "streams", "graphs", "mstx"):
        assert importlib.import_module(f"torch_npu.npu.{name}") is importlib.import_module(f"torch.npu.{name}") is getattr(torch.npu, name)
    stream = torch_npu.npu.Stream(device=3)
    with torch_npu.npu.stream(stream):
        assert torch_npu._C._npu_getCurrentRawStream(3) == stream.npu_stream != torch_npu._C._npu_getCurrentRawStream(0)


def test_names_it_lacks_are_attribute_errors_so_that_hasattr_tells_the_truth(torch_npu):
    for owner, name in ((torch_npu, "npu_grouped_matmul"), (torch_npu, "npu_dynamic_mx_quant"), (torch_npu._C, "_npu_setOption")):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}': ascend-sim's stand-in does not have it"):
            getattr(owner, name)


def test_dtypes_are_the_numbers_of_the_real_package(torch_npu):
    assert (torch_npu.hifloat8, torch_npu.float8_e5m2, torch_npu.float8_e4m3fn, torch_npu.float8_e8m0fnu, torch_npu.float4_e2m1fn_x2) == (290, 291, 292, 293, 296)
    assert torch_npu.float32 == 256 and torch_npu.bool == 268 and torch_npu.bfloat16 == 283
    x = torch.tensor([0.5, 3.0], device="npu")
    for dtype, expected in ((torch_npu.float8_e4m3fn, torch.float8_e4m3fn), (torch_npu.bfloat16, torch.bfloat16), (torch.half, torch.half)):
        assert torch_npu.npu_dtype_cast(x, dtype).dtype == expected
    with pytest.raises(TypeError, match="no dtype for torch_npu.hifloat8"):
        torch_npu.npu_dtype_cast(x, torch_npu.hifloat8)
    with pytest.raises(ValueError, match="npu_dtype_cast: input is on cpu; expected an npu tensor"):
        torch_npu.npu_dtype_cast(x.cpu(), torch_npu.float32)
    for wrong in (5, True, "float32", None, math.nan, [256], torch.ones(2)):
        with pytest.raises(TypeError, match="expected a torch.dtype or one of torch_npu's numbers"):
            torch_npu.npu_dtype_cast(x, wrong)


def test_format_casts_keep_the_tensor(torch_npu):
    x = torch.ones(2, 2, device="npu")
    assert torch_npu.npu_format_cast(x, 29) is x is torch_npu.npu_format_cast_(x, torch_npu.Format.ND) and torch_npu.get_npu_format(x) == 2
    for wrong in (77, None, "ND", 2.0, True, x):
        with pytest.raises(ValueError, match=r"acl_format is .*; expected one of .*29 \(FRACTAL_NZ\)"):
            torch_npu.npu_format_cast(x, wrong)
    with pytest.raises(ValueError, match="input is on cpu; expected an npu tensor"):
        torch_npu.npu_format_cast(torch.ones(2), 2)
    with pytest.raises(TypeError, match="input is a list"):
        torch_npu.npu_format_cast([1], 2)


def reference(q, k, v, scale, hidden=None):
    """[N, S, D] in float64."""
    q, k, v = q.double().cpu(), *(t.double().cpu().repeat_interleave(q.shape[0] // t.shape[0], 0) for t in (k, v))
    scores = q @ k.transpose(1, 2) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden.cpu(), -math.inf)
    return torch.nan_to_num(scores.softmax(-1)) @ v, scores.amax(-1), (scores - scores.amax(-1, keepdim=True)).exp().sum(-1)


TO_LAYOUT = {
    "BNSD": lambda t: t, "BSND": lambda t: t.transpose(1, 2), "BSH": lambda t: t.transpose(1, 2).flatten(2),
    "SBH": lambda t: t.transpose(1, 2).flatten(2).transpose(0, 1),
}


@pytest.mark.parametrize("layout", TO_LAYOUT)
@pytest.mark.parametrize("sparse_mode", [0, 2, 3, 4])
def test_fusion_attention_is_attention(torch_npu, layout, sparse_mode):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, heads, length, 16, device="npu") for heads, length in ((4, 5), (2, 7), (2, 7)))
    row, column = torch.arange(5)[:, None], torch.arange(7)[None]
    hidden = {0: torch.rand(5, 7) > 0.7, 2: column > row, 3: column > row + 2, 4: (column > row + 2 + 1) | (column < row + 2 - 3)}[sparse_mode]
    mask = hidden.npu() if sparse_mode == 0 else torch.ones(2048, 2048, dtype=torch.bool, device="npu").triu(1)
    output, highest, total, *rest = torch_npu.npu_fusion_attention(
        *(TO_LAYOUT[layout](t) for t in (q, k, v)), 4, layout, atten_mask=mask, scale=0.25, sparse_mode=sparse_mode, pre_tockens=3, next_tockens=1)
    assert output.shape == TO_LAYOUT[layout](q).shape and highest.shape == total.shape == (2, 4, 5, 8) and rest[1:] == [0, 0, 0]
    for batch in range(2):
        expected, expected_highest, expected_total = reference(q[batch], k[batch], v[batch], 0.25, hidden)
        of_batch = output.transpose(0, 1)[batch:batch + 1] if layout == "SBH" else output[batch:batch + 1]
        torch.testing.assert_close(of_batch.cpu().double(), TO_LAYOUT["BSH" if layout == "SBH" else layout](expected[None]), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(highest[batch, :, :, 3].cpu().double(), expected_highest, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(total[batch, :, :, 7].cpu().double(), expected_total, rtol=1e-5, atol=1e-6)


def test_fusion_attention_of_sequences_of_several_lengths(torch_npu):
    q, k = torch.randn(9, 2, 8, device="npu", dtype=torch.bfloat16), torch.randn(12, 1, 8, device="npu", dtype=torch.bfloat16)
    output = torch_npu.npu_fusion_attention(q, k, k, 2, input_layout="TND", actual_seq_qlen=(4, 4, 9), actual_seq_kvlen=(5, 6, 12), scale=0.5)[0]
    assert output.dtype == torch.bfloat16
    for (q0, q1), (k0, k1) in (((0, 4), (0, 5)), ((4, 9), (6, 12))):
        expected = reference(q[q0:q1].transpose(0, 1), k[k0:k1].transpose(0, 1), k[k0:k1].transpose(0, 1), 0.5)[0]
        torch.testing.assert_close(output[q0:q1].transpose(0, 1).cpu().double(), expected, rtol=1e-2, atol=1e-2)


def test_fusion_attention_has_gradients_and_rows_that_see_nothing_are_zero(torch_npu):
    q, k = torch.randn(1, 2, 3, 8, device="npu", requires_grad=True), torch.randn(1, 2, 4, 8, device="npu")
    hidden = torch.zeros(3, 4, dtype=torch.bool, device="npu")
    hidden[1] = True
    output = torch_npu.npu_fusion_attention(q, k, k, 2, "BNSD", atten_mask=hidden)[0]
    output.sum().backward()
    assert not output[:, :, 1].any() and output[:, :, 0].any() and q.grad.isfinite().all() and not q.grad[:, :, 1].any()
    empty = torch_npu.npu_fusion_attention(q, k[:, :, :0], k[:, :, :0], 2, "BNSD")[0]
    assert empty.shape == q.shape and not empty.any()


@pytest.mark.parametrize("change, message", [
    ({"head_num": 3}, "head_num is 3; the query has shape"), ({"input_layout": "XYZ"}, "input_layout is 'XYZ'; expected one of BSH"),
    ({"keep_prob": 0.0}, "keep_prob is 0.0; expected more than 0"), ({"sparse_mode": 3}, "atten_mask is None; sparse_mode 3 expects one"),
    ({"atten_mask": torch.zeros(2, 2, dtype=torch.bool, device="npu")}, r"atten_mask has shape \[2, 2\]"),
    ({"atten_mask": torch.zeros(2, 2, device="npu")}, "atten_mask has dtype torch.float32; expected bool or uint8"), ({"query": None}, "query is None; expected a tensor"),
    ({"key": torch.ones(1, 2, 3, 8, dtype=torch.int32, device="npu")}, "key has dtype torch.int32; expected float16, bfloat16 or float32"),
    ({"value": torch.ones(1, 2, 3, 8, device="npu:1")}, "value is on npu:1; expected npu:0"), ({"input_layout": "TND"}, "query has shape .* expected 3 dimensions"),
    *(({name: torch.ones(1, 2, 3, 8)}, f"{name} is on cpu; expected an npu tensor") for name in ("query", "key", "value")),
    ({"pse": torch.ones(1, 2, 3, 3)}, "pse is on cpu; expected an npu tensor"), ({"pse": 3}, "pse is 3; expected a tensor"),
    ({"atten_mask": torch.zeros(3, 3, dtype=torch.bool)}, "atten_mask is on cpu; expected an npu tensor"), ({"atten_mask": "x"}, "atten_mask is 'x'; expected a tensor"),
    ({"scale": None}, "scale is None; expected a number"), ({"scale": "1"}, "scale is '1'; expected a number"), ({"keep_prob": math.nan}, "keep_prob is nan; expected more"),
    ({"keep_prob": "x"}, "keep_prob is 'x'"), ({"pre_tockens": 1.5}, "pre_tockens is 1.5; expected a whole number"), ({"next_tockens": None}, "next_tockens is None; expected"),
    ({"head_num": None}, "head_num is None; the query"), ({"input_layout": ["BNSD"]}, r"input_layout is \['BNSD'\]; expected one of"),
])
def test_fusion_attention_names_what_is_wrong(torch_npu, change, message):
    q = torch.ones(1, 2, 3, 8, device="npu")
    arguments = {"query": q, "key": q, "value": q, "head_num": 2, "input_layout": "BNSD"} | change
    with pytest.raises((ValueError, TypeError), match=f"npu_fusion_attention: {message}"):
        torch_npu.npu_fusion_attention(**arguments)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_the_profiler_takes_the_real_ones_options(torch_npu, tmp_path):
    profiler = torch_npu.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.NPU, profiler.ProfilerActivity.CPU],
                          schedule=profiler.schedule(wait=0, warmup=0, active=1, repeat=1),
                          on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), analyse_flag=False), with_stack=False,
                          experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1,
                                                                           aic_metrics=profiler.AiCMetrics.PipeUtilization, l2_cache=False,
                                                                           export_type=[profiler.ExportType.Text])) as profile:
        torch.ones(1000, device="npu").exp()
        profile.step()
    assert len(list(tmp_path.glob("*.json"))) == 1
    with pytest.raises(NotImplementedError, match="prof_if"):
        profile.prof_if  # noqa: B018


def test_raw_files_of_the_profiler_hold_the_records_of_launches(torch_npu):
    """As tilelang/profiler/msprof.py of the wheel reads them."""
    a = torch.randn(256, 512, device="npu").bfloat16()
    d = torch.empty(256, 256, dtype=torch.bfloat16, device="npu")
    options = torch_npu.profiler._ExperimentalConfig(data_simplification=False)
    with ascend_sim.profile() as expected, torch_npu.profiler.profile(activities=[torch_npu.profiler.ProfilerActivity.NPU], experimental_config=options) as profile:
        for _ in range(2):
            deep_gemm.bf16_gemm_nt(a, a[:256], d)
        a.exp()
    folder = Path(profile.prof_if.prof_path)
    names = {int(number): name for number, name in (line.split(":", 1) for line in (folder / "hash_dic.slice_0").read_text().splitlines())}
    tasks = {words[3] >> 32: names[words[5]] for words in struct.iter_unpack("<8q", (folder / "task_track.slice_0").read_bytes())}
    found = list(struct.iter_unpack("<16q", (folder / "ffts_profile.slice_0").read_bytes()))
    assert [(tasks[words[0] >> 32], words[2] >= 2**31) for words in found] == [("bf16_gemm_impl", False)] * 2 + [(expected.records[2].name, True)]
    for words, record in zip(found, expected.records, strict=True):
        assert words[15] - words[14] == pytest.approx(record.simulated_us * 1000, abs=1)
        assert words[1] == pytest.approx(record.cycles, abs=1)
    gemm = expected.records[0]
    assert [words / found[0][1] for words in found[0][5:10]] == pytest.approx([gemm.aic[pipe].busy if pipe in gemm.aic else 0.0
                                                                               for pipe in ("M", "S", "MTE1", "MTE2", "MTE3")], abs=1e-3)
    path = profile.prof_if.prof_path
    del profile
    gc.collect()
    assert not Path(path).exists()


def test_the_rest_of_what_clients_import(torch_npu):
    from torch_npu._C._distributed_c10d import ProcessGroupHCCL
    options = ProcessGroupHCCL.Options()
    options.hccl_config = {"hccl_buffer_size": 200}
    reductions = importlib.import_module("torch_npu.multiprocessing.reductions")
    rebuild, arguments = reductions.reduce_tensor(torch.arange(4, device="npu"))
    assert rebuild(*arguments).tolist() == [0, 1, 2, 3]
    with pytest.raises(NotImplementedError, match="rebuild_npu_tensor"):
        reductions.rebuild_npu_tensor()
    parameter = torch.nn.Parameter(torch.ones(3, device="npu"))
    parameter.grad = torch.ones(3, device="npu")
    torch_npu.optim.NpuFusedAdamW([parameter], lr=0.1, weight_decay=0.0).step()
    assert torch.allclose(parameter, torch.full((3,), 0.9, device="npu"))
    elsewhere = torch.nn.Parameter(torch.ones(3))
    elsewhere.grad = torch.ones(3)
    with pytest.raises(ValueError, match=r"NpuFusedAdamW: params has a parameter of shape \[3\] on cpu; expected npu tensors"):
        torch_npu.optim.NpuFusedAdamW([elsewhere]).step()
    with pytest.raises(ValueError, match="device 'x' given; expected an npu device"):
        torch_npu._C._npu_getCurrentRawStream("x")


def test_transfer_to_npu_is_the_stand_in_cuda(torch_npu, monkeypatch):
    from ascend_sim import compat
    monkeypatch.setattr(compat, "_active", {})
    monkeypatch.delitem(sys.modules, "torch_npu.contrib.transfer_to_npu", raising=False)
    if _cuda.real_cuda():
        pytest.skip("a real CUDA device is here")
    try:
        importlib.import_module("torch_npu.contrib.transfer_to_npu")
        assert torch.ones(1, device="cuda").device.type == "npu" and compat.active() == ("cuda",)
    finally:
        _cuda._patches.undo()
        _cuda._patches = None
