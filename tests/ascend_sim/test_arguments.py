# SPDX-License-Identifier: MIT
"""Does every public function refuse what makes no sense with an error that says what it expected, whatever it is given?

Each argument in turn becomes None, text, NaN, infinity, a negative and a huge number, a container, a type, a tensor and an object of no use. The call
may work, or raise TypeError or ValueError (RuntimeError for a device that is not there) whose text names the argument or what is accepted.
"""

import math
import re
import warnings

import ascend_sim
import ascend_sim.npu
import deep_gemm
import deep_gemm.testing.numeric
import numpy as np
import pytest
import torch
from ascend_sim import arguments, backends, chips, compat, formats, layouts, profiler
from deep_gemm.testing import envs, numeric
from deep_gemm.testing.bench import bench, bench_kineto, bench_msprof
from deep_gemm.testing.par_compile import par_compile
from deep_gemm.utils import dist

npu = torch.npu


class Odd:
    def __repr__(self):
        raise RuntimeError("cannot be shown")


JUNK = [None, "x", "", b"x", 3.7, math.nan, math.inf, -1, 10**5000, 2**63, [], [None], {}, Odd(), int, torch.ones(2), torch.ones(2, device="npu"), np.int64(-5),
        np.float32(2), (1, 2, 3)]
EXPLAINS = re.compile("expected|accepted|known:|takes|needs|must be|does not exist|forbids")


def bf16(*shape):
    return torch.ones(shape, dtype=torch.bfloat16, device="npu")


def quantised(mn, k):
    return torch.ones(mn, k, device="npu").to(torch.float8_e4m3fn), torch.ones(mn, -(-k // 32), device="npu")


def cases():
    """name -> (function, arguments that it takes)"""
    sf, stream, event = torch.ones(8, 4, device="npu"), npu.Stream(), npu.Event(enable_timing=True)
    plain, ends = layouts.plain(1, 32), torch.tensor([4, 8], dtype=torch.int32)
    x, codes = torch.ones(128, 128), torch.ones(128, 64, dtype=torch.int8)
    profile = ascend_sim.profile()
    with profile:
        pass
    found = {
        "mode": (lambda name: ascend_sim.mode(name), {"name": "full"}), "profile": (ascend_sim.profile, {"timeline": True}),
        "export_chrome_trace": (profile.export_chrome_trace, {"path": "/nowhere/at/all"}), "profiler.table": (profiler.table, {"records": []}),
        "backends.use": (backends.use, {"name": "ascend"}), "compat.install": (compat.install, {"names": None}), "chips.load": (chips.load, {"name": "950DT_9581"}),
        "decode": (formats.decode, {"name": "e4m3", "codes": [1, 2]}), "hf32": (formats.hf32, {"values": [1.0], "away": False}),
        "encode": (formats.encode, {"name": "e4m3", "values": [1.0, 2.0], "rounding": None, "saturation": "on"}),
        "pack_fp4": (formats.pack_fp4, {"codes": [1, 2]}), "unpack_fp4": (formats.unpack_fp4, {"packed": np.array([1, 2], np.uint8)}),
        "plain": (layouts.plain, {"gran_mn": 1, "gran_k": 128}), "sm90": (layouts.sm90, {"gran_mn": 1}), "sm100": (layouts.sm100, {"gran_k": 32}),
        "convert": (layouts.convert, {"sf": sf, "source": plain, "target": layouts.ascend(), "mn": 8, "k": 128, "psum_layout": ends, "alignment": 4}),
        "convert_k_grouped": (layouts.convert_k_grouped, {"sf": torch.ones(4, 8), "source": plain, "target": layouts.ascend(), "mn": 8, "ks": [64, 64]}),
        "values": (layouts.values, {"sf": sf, "layout": plain, "mn": 8, "k": 128}), "mismatch": (layouts.mismatch, {"sf": sf, "layout": plain, "mn": 8, "k": 128}),
        "place": (layouts.place, {"elements": sf, "layout": layouts.sm90(), "mn": 8, "k": 512}),
    }
    for name in ("set_device synchronize get_device_properties get_device_name get_device_capability utilization device mem_get_info memory_allocated memory_reserved "
                 "memory_stats memory_summary reset_peak_memory_stats current_stream default_stream get_device_limit get_rng_state Stream").split():
        found[f"npu.{name}"] = (lambda device, name=name: getattr(npu, name)(device), {"device": 0})
    found |= {f"npu.{name}": (getattr(npu, name), named) for name, named in {
        "can_device_access_peer": {"device_id": 0, "peer_device_id": 1}, "device_of": {"obj": sf}, "set_per_process_memory_fraction": {"fraction": 1.0, "device": 0},
        "set_device_limit": {"device": 0, "cube_num": -1, "vector_num": -1}, "set_stream_limit": {"stream": stream, "cube_num": -1, "vector_num": -1},
        "get_stream_limit": {"stream": stream}, "reset_stream_limit": {"stream": stream}, "manual_seed": {"seed": 1}, "manual_seed_all": {"seed": 1},
        "set_rng_state": {"new_state": npu.get_rng_state(), "device": "npu"}, "set_rng_state_all": {"new_states": npu.get_rng_state_all()}, "set_stream": {"stream": None},
        "Event": {"enable_timing": True, "blocking": False, "interprocess": False}, "set_sync_debug_mode": {"debug_mode": 0}, "set_option": {"option": {}},
        "set_task_queue_enable": {"level": 1}, "set_deterministic_level": {"level": 0}, "NPUGraph": {"keep_graph": False},
        "graph": {"npu_graph": npu.NPUGraph(), "pool": None, "stream": None, "capture_error_mode": "global"}, "graph_task_group_begin": {"stream": None},
        "graph_task_group_end": {"stream": None}, "graph_task_update_begin": {"stream": stream, "handle": None}, "graph_task_update_end": {"stream": None},
        "make_graphed_callables": {"callables": None, "sample_args": None, "num_warmup_iters": None, "allow_unused_input": None, "pool": 0},
        "MemPool": {"allocator": None}, "change_current_allocator": {"allocator": None}, "caching_allocator_delete": {"mem_ptr": 0},
    }.items()}
    found |= {
        "npu.stream": (lambda stream: npu.stream(stream).__enter__() and None, {"stream": None}), "Event.record": (event.record, {"stream": None}),
        "Event.wait": (event.wait, {"stream": None}), "Event.elapsed_time": (event.elapsed_time, {"end_event": event}),
        "Stream.wait_stream": (stream.wait_stream, {"stream": stream}), "Stream.wait_event": (stream.wait_event, {"event": event}),
        "Stream.record_event": (stream.record_event, {"event": event}), "mark": (npu.mstx.mark, {"message": "m"}), "range_end": (npu.mstx.range_end, {"range_id": 1}),
        "mstx_range": (npu.mstx.mstx_range, {"message": "m"}),
    }
    gemm = {"c": None, "compiled_dims": "nk", "alpha": None, "epilogue": None}
    scaled = {"a": quantised(8, 64), "b": quantised(8, 64), "d": bf16(8, 8), "recipe": None, "recipe_a": None, "recipe_b": None, "disable_ue8m0_cast": False}
    found |= {name: (getattr(deep_gemm, name), named) for name, named in {
        "bf16_gemm_nt": {"a": bf16(8, 32), "b": bf16(8, 32), "d": bf16(8, 8)} | gemm, "fp8_fp4_gemm_nt": scaled | gemm,
        "fp8_gemm_nt_skip_head_mid": {"a": quantised(8, 32), "b": quantised(8, 32), "d": bf16(8, 12), "head_splits": (2, 2, 2), "recipe": None, "disable_ue8m0_cast": False},
        "aclnn_bf16_gemm_nt": {"a": bf16(8, 32), "b": bf16(8, 32), "d": bf16(8, 8), "c": None}, "aclnn_fp8_fp4_gemm_nt": scaled | {"c": None},
        "transform_sf_into_required_layout": {"sf": sf, "mn": 8, "k": 128, "recipe": (1, 1, 32), "num_groups": None, "is_sfa": True, "disable_ue8m0_cast": False, "psum_layout": None},
        "get_tma_aligned_size": {"x": 8, "element_size": 4}, "get_mn_major_tma_aligned_tensor": {"sf": sf},
        "get_mn_major_tma_aligned_packed_ue8m0_tensor": {"sf": sf, "psum_layout": None},
        "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor": {"sf": torch.ones(4, 8), "grouped_layout": torch.tensor([64, 64], dtype=torch.int32), "ks_cpu": [64, 64],
                                                                   "gran_k": 32, "k_alignment": 128, "use_psum_layout": False},
        "set_num_sms": {"num_sms": 1}, "set_npu_arch": {"arch": 0}, "use_deterministic_algorithms": {"enabled": False}, "set_pdl": {"enabled": False},
        "set_mk_alignment_for_contiguous_layout": {"alignment": 256}, "get_theoretical_mk_alignment_for_contiguous_layout": {"expected_m": None},
        "set_tc_util": {"percent": 50}, "set_ignore_compile_dims": {"enabled": True}, "set_block_size_multiple_of": {"multiple": 1},
        "ceil_div": {"x": 4, "y": 3}, "align": {"x": 4, "y": 3}, "ceil_to_ue8m0": {"x": x}, "pack_ue8m0_to_int": {"x": sf},
        "unpack_ue8m0_from_int": {"packed_sf": torch.ones(2, 2, dtype=torch.int32)}, "per_token_cast_to_fp8": {"x": x, "use_ue8m0": True, "gran_k": 128, "use_packed_ue8m0": False},
        "per_channel_cast_to_fp8": {"x": x, "use_ue8m0": True, "gran_k": 128}, "per_block_cast_to_fp8": {"x": x, "use_ue8m0": True, "gran_k": 128},
        "per_custom_dims_cast_to_fp8": {"x": x, "dims": (0,), "use_ue8m0": True}, "transpose_packed_fp4": {"a": codes},
        "per_token_cast_to_fp4": {"x": x, "use_ue8m0": True, "gran_k": 128, "use_packed_ue8m0": False},
        "cast_back_from_fp4": {"packed": codes, "sf": x[:, :1], "gran_k": 128, "use_packed_ue8m0": False},
        "cast_back_from_fp8": {"x_fp8": x, "sf": x[:, :1], "gran_k": 128, "use_packed_ue8m0": False},
        "init_dist": {"local_rank": -1, "num_local_ranks": 0}, "uneven_all_gather": {"tensor": None, "dim": None},
    }.items()}
    return found | {
        "set_num_sms": (lambda num_sms: deep_gemm.set_num_sms(num_sms), {"num_sms": 1}),
        "set_dry_run": (deep_gemm._C.set_dry_run, {"enabled": False}), "Alpha": (deep_gemm.epilogue.Alpha, {"alpha": 1.0}), "FP8Quantization": (deep_gemm.epilogue.FP8Quantization, {"sfd": sf}),
        "dist.init_dist": (dist.init_dist, {"local_rank": 7, "num_local_ranks": 1}), "calc_diff": (numeric.calc_diff, {"x": x, "y": x}), "count_bytes": (numeric.count_bytes, {}),
        "bench_msprof": (bench_msprof, {"fn": int, "kernel_names": ["none"], "num_warmups": 0, "num_tests": 1, "flush_l2": True, "barrier": None, "return_all_kernels": True, "backend": "fast"}),
        "bench_kineto": (bench_kineto, {"fn": int, "kernel_names": "none", "num_tests": 1, "trace_path": None, "flush_l2": True, "with_multiple_kernels": False, "barrier": None}),
        "bench": (bench, {"fn": int, "num_warmups": 0, "num_tests": 1}), "par_compile": (par_compile, {"callables": [], "max_workers": None}), "init_seed": (envs.init_seed, {"global_seed": 1}),
    }


CASES = cases()


@pytest.fixture(autouse=True)
def settings_are_put_back(monkeypatch):
    monkeypatch.setattr("ascend_sim.backends.settings.deep_gemm", type(backends.settings.deep_gemm)())
    before, states = torch.get_default_dtype(), (torch.get_rng_state(), npu.get_rng_state_all(), np.random.get_state())
    yield
    torch.set_default_dtype(before)
    torch.set_rng_state(states[0])
    npu.set_rng_state_all(states[1])
    npu.set_device(0)
    npu.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize("name", CASES)
def test_nonsense_is_refused_with_what_was_expected(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)         # a str is a fine name for a file
    function, good = CASES[name]
    for argument in good:
        for junk in JUNK:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(junk) if name == "compat.install" else function(**good | {argument: junk})
                except (TypeError, ValueError, RuntimeError) as error:
                    text = str(error)
                    assert EXPLAINS.search(text) and len(text) < 2500, (argument, arguments.shown(junk), text)
                    assert type(error) is not RuntimeError or re.search("device index|cannot be written|is in the name of 0 kernels", text), (argument, arguments.shown(junk), text)
                except OverflowError as error:
                    pytest.fail(f"{argument} = {arguments.shown(junk)}: {error}")


def test_a_recipe_that_stands_for_both_operands_is_refused_once():
    with pytest.raises(ValueError) as caught:
        deep_gemm.fp8_gemm_nt(quantised(8, 32), quantised(8, 32), bf16(8, 8), recipe=(1, 1, 3))
    assert str(caught.value).count("gran_k = 3") == 1 and "\n" not in str(caught.value)


def test_an_address_can_be_given_back_once():
    address = npu.caching_allocator_alloc(512)
    npu.caching_allocator_delete(address)
    with pytest.raises(ValueError, match=f"mem_ptr is {address}; expected an address from caching_allocator_alloc that was not given back"):
        npu.caching_allocator_delete(address)


def test_codes_of_signed_types_stand_for_their_bytes():
    assert np.isnan(formats.decode("e8m0", np.array([-1], np.int8))).all()
    assert formats.decode("e4m3", np.array([-0x40], np.int8)) == formats.decode("e4m3", [0xC0]) == -2.0
    with pytest.raises(ValueError, match="codes has values from 256 to 256; expected codes from 0 to 255"):
        formats.decode("e4m3", [256])


def test_a_value_is_shown_on_one_line_and_a_tensor_by_what_it_is():
    assert arguments.shown(torch.ones(2, 3, dtype=torch.bfloat16).npu()) == "a bfloat16 tensor of shape (2, 3) on npu:0"
    assert arguments.shown("two\nlines") == r"'two\nlines'" and "\n" not in arguments.shown(np.ones((3, 3)))
