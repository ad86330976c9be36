# SPDX-License-Identifier: MIT
"""Saving, loading, copying and pickling npu tensors."""

import copy
import io
import pickle

import pytest
import torch


@pytest.fixture
def saved():
    x = torch.randn(4, 3, device="npu:1")
    buffer = io.BytesIO()
    torch.save({"x": x, "row": x[1], "codes": x.to(torch.float8_e4m3fn)}, buffer)
    return x, buffer


@pytest.mark.parametrize("map_location, device", [
    (None, "npu:1"), ("cpu", "cpu"), ("npu:2", "npu:2"), ({"npu:1": "npu:0"}, "npu:0"), (torch.device("npu", 3), "npu:3"),
    (lambda storage, location: storage, "cpu"),
])
@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_load_where_they_were_or_where_asked(saved, map_location, device, weights_only):
    x, buffer = saved
    buffer.seek(0)
    loaded = torch.load(buffer, map_location=map_location, weights_only=weights_only)
    assert {t.device for t in loaded.values()} == {torch.device(device)}
    assert torch.equal(loaded["x"].cpu(), x.cpu()) and torch.equal(loaded["row"].cpu(), x[1].cpu())
    assert torch.equal(loaded["codes"].cpu().view(torch.uint8), x.cpu().to(torch.float8_e4m3fn).view(torch.uint8))
    assert loaded["row"].untyped_storage().data_ptr() == loaded["x"].untyped_storage().data_ptr()


def test_a_device_that_does_not_exist_is_named_when_loading(saved, run_python, tmp_path):
    torch.save(torch.ones(2, device="npu:7"), tmp_path / "x.pt")
    done = run_python("import torch; torch.load('x.pt')", check=False, ASCEND_SIM_DEVICES="2")
    assert done.returncode != 0 and "npu" in done.stderr and "7" in done.stderr


def test_files_are_readable_without_the_device(saved, run_python, tmp_path):
    """The tag in the file is npu:1, as torch_npu writes it."""
    torch.save(torch.arange(3, device="npu:1"), tmp_path / "x.pt")
    code = "import torch; print(torch.load('x.pt', map_location='cpu').tolist())"
    assert run_python(code, ASCEND_SIM_AUTOLOAD="0").stdout.strip() == "[0, 1, 2]"


def test_state_dicts_move_between_devices():
    source, target = torch.nn.Linear(3, 2).npu(1), torch.nn.Linear(3, 2).npu(0)
    target.load_state_dict(source.state_dict())
    assert torch.equal(target.weight.cpu(), source.weight.cpu()) and target.weight.device == torch.device("npu:0")


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))], ids=["deepcopy", "pickle"])
def test_duplicates_are_equal_and_independent(duplicate):
    x = torch.nn.Parameter(torch.randn(3, device="npu:1"))
    y = duplicate(x)
    assert y.device == x.device and torch.equal(x, y) and y.data_ptr() != x.data_ptr() and y.requires_grad
