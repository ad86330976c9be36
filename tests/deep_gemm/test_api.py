# SPDX-License-Identifier: MIT
"""Are the names, signatures and settings those of DeepGEMM-Ascend, and what is missing clearly missing?"""

import inspect
import subprocess
import sys

import deep_gemm
import pytest
import torch
from ascend_sim import backends
from ascend_sim.backends import settings
from ascend_sim.errors import AscendParityError, AscendParityWarning
from deep_gemm import _not_yet, epilogue, locality_domain, testing

BF16 = "(a, b, d, c=None, compiled_dims={!r}, alpha=None, epilogue=None)"
FP8 = "(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims={!r}, disable_ue8m0_cast=False, alpha=None, epilogue=None)"


def parameters(function) -> str:
    signature = inspect.signature(function)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize("name, expected", [
    *((f"bf16_gemm_{s}", BF16.format("nk" if s in ("nt", "nn") else "mn")) for s in ("nt", "nn", "tn", "tt")),
    *((f"fp8_fp4_gemm_{s}", FP8.format("nk" if s in ("nt", "nn") else "mn")) for s in ("nt", "nn", "tn", "tt")),
    ("transform_sf_into_required_layout", "(sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False, psum_layout=None)"),
    ("per_token_cast_to_fp8", "(x, use_ue8m0, gran_k=128, use_packed_ue8m0=False)"),
    ("get_mk_alignment_for_contiguous_layout", "()"),
])
def test_signature(name, expected):
    assert parameters(getattr(deep_gemm, name)) == expected


def test_signatures_of_the_bench_helpers():
    assert parameters(testing.bench_msprof) == (
        "(fn, kernel_names=None, num_warmups=10, num_tests=30, flush_l2=True, barrier_comm_profiling=False, barrier=None, "
        "return_all_kernels=False, suppress_verbose_output=True, backend='persistent')")
    assert parameters(testing.bench_kineto) == (
        "(fn, kernel_names, num_tests=30, suppress_kineto_output=False, trace_path=None, flush_l2=True, with_multiple_kernels=False, "
        "barrier=None)")
    assert parameters(testing.bench) == "(fn, num_warmups=5, num_tests=10, high_precision=False)"


@pytest.mark.parametrize("suffix", ["nt", "nn", "tn", "tt"])
def test_fp8_gemm_is_the_identical_object(suffix):
    assert getattr(deep_gemm, f"fp8_gemm_{suffix}") is getattr(deep_gemm, f"fp8_fp4_gemm_{suffix}")


def test_every_public_callable_has_a_docstring():
    missing = [name for name in deep_gemm.__all__ if callable(getattr(deep_gemm, name)) and not getattr(deep_gemm, name).__doc__]
    assert missing == []


def test_a_name_that_does_not_exist_says_so_and_what_is_near():
    with pytest.raises(AttributeError, match="no attribute 'bf16_gem_nt'.*Near it: bf16_gemm_nt"):
        _ = deep_gemm.bf16_gem_nt
    with pytest.raises(AttributeError, match="'get_col_major_tma_aligned_tensor': DeepGEMM itself has replaced it by get_mn_major_tma_aligned_tensor"):
        _ = deep_gemm.get_col_major_tma_aligned_tensor


NOT_YET = [(module, name) for module, names in ((deep_gemm, set().union(*_not_yet.FAMILIES.values())), (deep_gemm._C, _not_yet.NATIVE))
           for name in sorted(names - set(module.__all__))]


@pytest.mark.parametrize("module, name", NOT_YET, ids=[name for _, name in NOT_YET])
def test_a_name_that_is_not_written_says_so_and_hasattr_tells_the_truth(module, name):
    with pytest.raises(AttributeError, match=f"^{module.__name__}.{name} is not written yet in this version of ascend-sim"):
        getattr(module, name)
    assert not hasattr(module, name) and getattr(module, name, None) is None and name not in dir(module)


@pytest.mark.parametrize("name", ["deep_ep", "flash_mla", "deep_select"])
def test_a_package_that_is_not_written_raises_one_clear_import_error(name):
    with pytest.raises(ModuleNotFoundError, match=f"{name} is not written yet in this version of ascend-sim") as caught:     # programs that fall back catch either
        __import__(name)
    assert caught.value.name == name and name not in sys.modules


class TestSettings:
    @pytest.fixture(autouse=True)
    def restored(self):
        before = settings.deep_gemm.num_sms, deep_gemm.get_npu_arch(), deep_gemm.get_deterministic_algorithms()
        yield
        settings.deep_gemm.num_sms = before[0]
        deep_gemm.set_npu_arch(before[1])
        deep_gemm.use_deterministic_algorithms(before[2])

    def test_num_sms_is_the_core_count_until_set(self):
        assert deep_gemm.get_num_sms() == 32
        deep_gemm.set_num_sms(24)
        assert deep_gemm.get_num_sms() == 24

    @pytest.mark.parametrize("backend, count", [("cuda:sm90", 132), ("cuda:sm100", 148)])
    def test_num_sms_is_nvidias_multiprocessor_count_on_the_backend_cuda(self, backend, count):
        settings.deep_gemm.num_sms = 0
        with backends.use(backend):
            assert torch.cuda.is_available() or deep_gemm.get_num_sms() == count
            deep_gemm.set_num_sms(100)
            assert deep_gemm.get_num_sms() == 100
            with pytest.raises(ValueError, match=r"set_num_sms: num_sms is 5000; expected 1 to \d+, as many"):
                deep_gemm.set_num_sms(5000)
            deep_gemm.set_num_sms(0)
        with backends.use("ascend"):
            settings.deep_gemm.num_sms = 100                # set on a device with more
            assert deep_gemm.get_num_sms() == 32

    def test_num_sms_zero_is_cudas_way_to_say_all(self, monkeypatch):
        deep_gemm.set_num_sms(5)
        with pytest.warns(AscendParityWarning, match="set_num_sms"):
            deep_gemm.set_num_sms(0)
        assert deep_gemm.get_num_sms() == 32
        monkeypatch.setenv("ASCEND_SIM_STRICT", "1")
        with pytest.raises(AscendParityError):
            deep_gemm.set_num_sms(0)

    @pytest.mark.parametrize("value, error", [(33, ValueError), (-1, ValueError), ("4", TypeError), (4.0, TypeError)])
    def test_num_sms_refuses(self, value, error):
        with pytest.raises(error, match="set_num_sms: num_sms is"):
            deep_gemm.set_num_sms(value)

    def test_results_do_not_depend_on_num_sms(self, device):
        a, b = torch.randn(300, 64).bfloat16().to(device), torch.randn(280, 64).bfloat16().to(device)
        results = []
        for cores in (32, 7, 1):
            deep_gemm.set_num_sms(cores)
            results.append(torch.empty(300, 280).to(device))
            deep_gemm.bf16_gemm_nt(a, b, results[-1])
        assert torch.equal(results[0].cpu(), results[1].cpu()) and torch.equal(results[0].cpu(), results[2].cpu())

    def test_alignment_is_fixed_at_256(self):
        deep_gemm.set_mk_alignment_for_contiguous_layout(256)
        assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 256
        assert deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout() == 256
        with pytest.raises(ValueError, match="alignment is 128; expected 256"):
            deep_gemm.set_mk_alignment_for_contiguous_layout(128)

    def test_the_others_keep_what_they_are_told(self):
        assert deep_gemm.get_npu_arch() == 0 and deep_gemm.get_deterministic_algorithms() is False
        deep_gemm.set_npu_arch(35)
        deep_gemm.use_deterministic_algorithms(True)
        assert deep_gemm.get_npu_arch() == 35 and deep_gemm.get_deterministic_algorithms() is True


def test_epilogues_construct_as_documented():
    with pytest.raises(TypeError, match="abstract"):
        epilogue.Epilogue()
    assert epilogue.Alpha(2).alpha == 2.0 and isinstance(epilogue.Identity(), epilogue.Epilogue)
    with pytest.raises(TypeError, match="alpha is of type str"):
        epilogue.Alpha("2")
    with pytest.raises(TypeError, match="sfd is a tensor of float32 .4, 4.; expected an int16 tensor"):
        epilogue.FP8Quantization(torch.ones(4, 4))


def test_locality_domains_do_nothing():
    tensor = torch.ones(2)
    assert locality_domain.get_num_locality_domains() == deep_gemm.get_num_locality_domains() == 1
    assert deep_gemm.localize(tensor, dim=-1) is tensor and not deep_gemm.is_localized(tensor)
    assert not deep_gemm.is_localization_available() and deep_gemm.destroy_localizer() is None


class TestNumericHelpers:
    def test_calc_diff_is_zero_for_equal_and_one_for_orthogonal(self):
        x, y = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
        assert testing.calc_diff(x, x) == 0.0 and testing.calc_diff(x, y) == 1.0
        assert testing.calc_diff(torch.zeros(3), torch.zeros(3)) == 0.0
        assert testing.calc_diff(torch.tensor([1.0]), torch.tensor([1.1])) == pytest.approx(1 - 2.2 / 2.21)

    def test_count_bytes_looks_into_tuples_and_skips_none(self):
        assert testing.count_bytes(torch.ones(3), None, (torch.ones(2).bfloat16(), [torch.ones(1).double()])) == 12 + 4 + 8

    def test_bitwise_equality_names_the_first_difference(self):
        x = torch.zeros(2, 3)
        y = x.clone()
        y[1, 2] = -0.0
        testing.assert_bitwise_equal(x, x.clone())
        with pytest.raises(AssertionError, match=r"out: 1 of 6 elements differ, the first at \[1, 2\]"):
            testing.assert_bitwise_equal(x, y, "out")


def test_import_touches_no_device_and_is_light():
    """Ours takes a hundredth of what PyTorch's own import takes."""
    code = ("import sys, time; begin = time.perf_counter(); import torch; between = time.perf_counter(); import deep_gemm; end = time.perf_counter(); "
            "heavy = {'deep_gemm.testing', 'numpy.testing', 'tilelang'} & set(sys.modules); print((end - between) / (between - begin), sorted(heavy))")

    def share() -> float:
        share, heavy = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout.split(maxsplit=1)
        assert heavy.strip() == "[]"
        return float(share)
    assert any(share() < 0.1 for _ in range(3))
