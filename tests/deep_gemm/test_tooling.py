# SPDX-License-Identifier: MIT
"""Dry runs, printed configurations, and the helpers that tests of the real library begin with."""

import importlib.util
import random

import deep_gemm
import pytest
import torch
import torch.distributed as dist
from ascend_sim.errors import AscendParityWarning
from deep_gemm.testing import disable_fallback, envs, par_compile
from support.cases import QUANTISED, bf16, fp4, fp8, poisoned

needs_chip = pytest.mark.skipif(importlib.util.find_spec("ascend_sim._C") is None, reason="the extension is not built here; make build")


class TestDryRun:
    @pytest.mark.ascend_dialect
    def test_leaves_outputs_untouched_and_checks(self, device):
        a, b, d = fp8(32, 64, device, 1), fp4(48, 64, device, 2), poisoned(32, 48, device)
        with par_compile.dry_run():
            deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d, c=torch.zeros(32, 48, dtype=d.dtype).to(device))
            with pytest.raises(ValueError, match="with k = 64"):
                deep_gemm.fp8_fp4_gemm_nt(a.tensor, fp4(48, 128, device, 2).tensor, d)
        assert d.isnan().all()
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
        assert not d.isnan().any()

    def test_takes_tensors_without_memory(self):
        a, b, d = (torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in ((32, 64), (48, 64), (32, 48)))
        q = torch.empty(32, 64, dtype=torch.float8_e4m3fn, device="meta"), torch.empty(32, 2, device="meta")
        with par_compile.dry_run():
            deep_gemm.bf16_gemm_nt(a, b, d)
            deep_gemm.fp8_gemm_nt(q, q, torch.empty(32, 32, device="meta"))
            deep_gemm.aclnn_fp8_fp4_gemm_nt(q, q, torch.empty(32, 32, device="meta"))
            packed = deep_gemm.transform_sf_into_required_layout(q[1], 32, 64, (1, 1, 32), is_sfa=True)
        assert packed.shape == (32, 1) and packed.dtype == torch.int16

    def test_setting_by_the_native_modules_name(self):
        assert deep_gemm._C.get_dry_run() is False
        deep_gemm._C.set_dry_run(True)
        assert deep_gemm._C.get_dry_run() is True
        deep_gemm._C.set_dry_run(False)

    @needs_chip
    def test_par_compile_calls_everything_and_hands_on_the_first_exception(self):
        seen = []

        def good():
            assert deep_gemm._C.get_dry_run()
            seen.append(torch.npu.current_device())

        def bad():
            raise KeyError("bad")

        par_compile.par_compile([good] * 5, max_workers=2)
        assert seen == [torch.npu.current_device()] * 5
        with pytest.raises(KeyError, match="bad"):
            par_compile.par_compile([good, bad], progress=False)
        assert deep_gemm._C.get_dry_run() is False


@needs_chip
class TestPrintConfigs:
    @pytest.fixture(autouse=True)
    def switched_on(self, monkeypatch):
        monkeypatch.setenv("DG_PRINT_CONFIGS", "1")

    @pytest.mark.parametrize("mode", ["full", "functional", "timing"])
    def test_a_problem_is_printed_once_with_its_tile(self, capsys, mode):
        import ascend_sim
        m = {"full": 33, "functional": 34, "timing": 35}[mode]      # each problem is new to the process
        a, b = (QUANTISED["fp8"](size, 128, "npu", 1, sf_dtype=torch.int16) for size in (m, 77))
        with ascend_sim.mode(mode):
            for _ in range(2):
                deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, poisoned(m, 77, "npu"))
        lines = [line for line in capsys.readouterr().out.splitlines() if f"m={m}, n=77, k=128" in line]
        assert len(lines) == 1 and lines[0].startswith("fp8_gemm_impl(") and "block " in lines[0]

    def test_another_number_of_cores_is_another_problem(self, capsys):
        a, b = bf16(200, 64, "npu", 1), bf16(210, 64, "npu", 2)
        try:
            for cores in (4, 8):
                deep_gemm.set_num_sms(cores)
                deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, poisoned(200, 210, "npu"))
        finally:
            deep_gemm.set_num_sms(32)
        assert [line.split("cores=")[1][0] for line in capsys.readouterr().out.splitlines() if "m=200, n=210" in line] == ["4", "8"]


class TestBeginningOfTests:
    def test_no_operator_has_to_be_disabled(self):
        assert disable_fallback.disable_cpu_fallback() == 0 and disable_fallback.disable_cpu_fallback(allow=["aten::add"]) == 0

    def test_seeds_reach_python_and_torch(self):
        envs.init_seed(7)
        first = random.random(), torch.rand(3)
        envs.init_seed(7)
        assert first[0] == random.random() and torch.equal(first[1], torch.rand(3))

    def test_dist_print_names_the_rank(self, capsys):
        envs.dist_print("hello")
        envs.dist_print("once", once_in_node=True)
        assert capsys.readouterr().out == "[rank 0] hello\n[rank 0] once\n"

    def test_init_dist_says_what_the_backend_hccl_needs(self, monkeypatch):
        monkeypatch.setattr(dist, "is_backend_available", lambda name: False)
        for function in (envs.init_dist, deep_gemm.init_dist):
            with pytest.raises(RuntimeError, match="init_dist: .* no backend hccl.* import ascend_sim.npu first"):
                function(0, 1)

    def test_uneven_all_gather_of_one_rank(self):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            x = torch.arange(12.0).view(3, 4)
            assert torch.equal(deep_gemm.uneven_all_gather(x), x) and torch.equal(deep_gemm.uneven_all_gather(x, dim=1), x)
        finally:
            dist.destroy_process_group()


class TestCudaOnlySettings:
    def test_warn_and_keep_what_they_are_told(self):
        with pytest.warns(AscendParityWarning, match="set_tc_util: only the CUDA library has this function"):
            deep_gemm.set_tc_util(60)
        assert deep_gemm.get_tc_util() == 60
        deep_gemm.set_tc_util(0)
        assert deep_gemm.get_tc_util() == 100 and deep_gemm.get_pdl() is False
        with pytest.warns(AscendParityWarning, match="set_pdl"):
            deep_gemm.set_pdl(True)
        assert deep_gemm.get_pdl() is True
        deep_gemm.set_pdl(False)
        with pytest.warns(AscendParityWarning):
            deep_gemm.set_ignore_compile_dims(True)
        with pytest.warns(AscendParityWarning):
            deep_gemm.set_block_size_multiple_of((16, 32))

    def test_refuse_values(self):
        with pytest.raises(ValueError, match="percent is 101"):
            deep_gemm.set_tc_util(101)
        with pytest.raises(ValueError, match="multiple is 0"):
            deep_gemm.set_block_size_multiple_of(0)


def test_paths():
    assert deep_gemm.get_library_root_path().endswith("deep_gemm") and deep_gemm.ASCEND_HOME
