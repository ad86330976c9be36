# SPDX-License-Identifier: MIT
"""Which devices exist, which is current, and what they say about themselves."""

import threading

import pytest
import torch


def test_eight_devices_exist_by_default_and_the_first_is_current():
    assert torch.npu.is_available()
    assert torch.npu.device_count() == torch.accelerator.device_count() == 8
    assert torch.npu.current_device() == 0
    assert torch.accelerator.current_accelerator() == torch.device("npu")


def test_tensors_go_to_the_current_device():
    with torch.npu.device(3):
        assert torch.empty(2, device="npu").device == torch.device("npu:3")
        with torch.npu.device(None):
            assert torch.npu.current_device() == 3
    assert torch.empty(2, device="npu").device == torch.device("npu:0")


@pytest.mark.parametrize("device", [2, "npu:2", torch.device("npu", 2)])
def test_set_device_takes_an_index_a_string_and_a_device(device):
    torch.npu.set_device(device)
    assert torch.npu.current_device() == torch.accelerator.current_device_index() == 2
    torch.npu.set_device(0)


def test_device_of_follows_npu_tensors_and_ignores_others():
    with torch.npu.device_of(torch.empty(1, device="npu:5")):
        assert torch.npu.current_device() == 5
        with torch.npu.device_of(torch.empty(1)):
            assert torch.npu.current_device() == 5
    assert torch.npu.current_device() == 0


def test_an_index_that_does_not_exist_is_refused_with_the_range():
    for use in (lambda: torch.npu.set_device(8), lambda: torch.empty(1, device="npu:8"), lambda: torch.npu.mem_get_info(8),
                lambda: torch.Stream(device="npu:8"), lambda: torch.Generator("npu:8")):
        with pytest.raises(RuntimeError, match="8 does not exist; expected 0 to 7"):
            use()
    with pytest.raises(ValueError, match="cpu"):
        torch.npu.set_device("cpu")


def test_the_current_device_belongs_to_the_thread():
    seen = []
    with torch.npu.device(4):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_device()))
        thread.start()
        thread.join()
    assert seen == [0]


def test_properties_are_those_of_the_chip():
    properties = torch.npu.get_device_properties(0)
    assert properties.name == torch.npu.get_device_name(0) == "Ascend950DT_9581"
    assert properties.total_memory == 144_000_000_000
    assert (properties.cube_core_num, properties.vector_core_num) == (32, 64)
    assert properties.L2_cache_size == 128 * 2**20
    assert properties.multi_processor_count == 0 and properties.gcnArchName == ""
    assert torch.npu.get_soc_version() == 260
    assert torch.npu.get_device_capability() is None


def test_capabilities_list_the_narrow_types_and_no_quantized_ones():
    dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert {torch.bfloat16, torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2} <= dtypes
    assert not {torch.qint8, torch.quint8, torch.qint32} & dtypes


def test_methods_and_attributes_follow_the_name():
    assert torch.ones(2).npu().is_npu
    assert torch.ones(2).npu(1).device == torch.device("npu:1")
    assert next(torch.nn.Linear(2, 2).npu().parameters()).device.type == "npu"
    assert torch.ones(2).npu().untyped_storage().is_npu
    assert torch.profiler.ProfilerActivity.NPU is not None


def test_generic_calls_without_an_index_use_the_current_device():
    """PyTorch passes -1 there; taken as an index it corrupted memory."""
    with torch.npu.device(6):
        assert torch.Stream(device="npu").device_index == 6
        assert torch.accelerator.current_stream().device_index == 6
        event = torch.Event("npu")
        event.record()
        assert event.device == torch.device("npu:6")
        assert torch.Generator("npu").device == torch.device("npu:6")
        torch.accelerator.synchronize()


def test_dtypes_of_the_chip_can_be_stored_copied_viewed_and_printed():
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2, torch.uint16, torch.uint32):
        codes = torch.arange(64, dtype=torch.uint8)
        on_npu = codes.view(dtype).npu()
        assert torch.equal(torch.cat([on_npu, on_npu])[: len(on_npu)].clone().view(torch.uint8).cpu(), codes)
        assert "npu:0" in repr(on_npu)


def test_printing_shows_values_and_device():
    assert repr(torch.tensor([1.5, 2.0], device="npu")) == "tensor([1.5000, 2.0000], device='npu:0')"


def test_number_and_choice_of_devices_come_from_the_environment(run_python):
    code = "import torch; print(torch.npu.device_count(), torch.accelerator.device_count())"
    assert run_python(code, ASCEND_SIM_DEVICES="6", ASCEND_RT_VISIBLE_DEVICES="5,2,0").stdout.split() == ["3", "3"]


def test_settings_may_change_until_the_device_is_first_used(run_python):
    code = """
import os, torch
os.environ["ASCEND_SIM_DEVICES"] = "2"
torch.manual_seed(0)
print(torch.npu.device_count())
"""
    assert run_python(code).stdout.split() == ["2"]


def test_a_wrong_setting_is_an_error_of_the_first_use_not_of_the_import(run_python):
    code = """
import torch
assert not torch.npu.is_available() and not torch.accelerator.is_available()
try:
    torch.empty(1, device="npu")
except ValueError as error:
    print(error)
"""
    assert "ASCEND_SIM_DEVICES='many'" in run_python(code, ASCEND_SIM_DEVICES="many").stdout


def test_another_chip_has_other_properties(run_python):
    code = "import torch; p = torch.npu.get_device_properties(); print(p.name, p.cube_core_num, p.total_memory)"
    name, cores, memory = run_python(code, ASCEND_SIM_CHIP="950PR_9579", ASCEND_SIM_HBM_GB="2").stdout.split()
    assert name == "Ascend950PR_9579" and int(cores) > 0 and int(memory) == 2 * 2**30
