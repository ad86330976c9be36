# SPDX-License-Identifier: MIT
"""PyTorch's own operator samples give on npu, bit for bit, what they give on the CPU."""

import warnings

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

pytest.importorskip("expecttest", reason="PyTorch's operator samples need the package expecttest")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

# What differs, and why.
EXPECTED = {
    "tensor_split": "the index tensor must stay on the CPU, on every device",
    "to": "the sample itself names the CPU as its target",
    "to_sparse": "no sparse layouts on npu",
    "sparse.mm": "no sparse layouts on npu",
    "sparse.sampled_addmm": "no sparse layouts on npu",
    "nn.functional.linear_cross_entropy": "its chunked form, written in Python, sums in fp32 on the CPU only",
}
UNINITIALISED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


def on(device, value):
    return tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, value)


@pytest.fixture(autouse=True)
def one_thread():
    """The samples are tiny: waking other threads would cost more than it saves."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [
    torch.float32, torch.bfloat16, *[pytest.param(dtype, marks=pytest.mark.slow) for dtype in (torch.complex64, torch.int64)],
], ids=str)
def test_every_operator_equals_the_cpus(dtype):
    different, tried = {}, 0
    for op in op_db:
        name = op.name if op.variant_test_name != "reduce" else op.name.removesuffix(".reduce")
        if dtype not in op.supported_dtypes("cpu") or name in EXPECTED or name in UNINITIALISED:
            continue
        try:
            # Not op.sample_inputs and torch.manual_seed: both look through the whole call stack, which under pytest is long.
            torch.default_generator.manual_seed(7)
            sample = next(iter(op.sample_inputs_func(op, "cpu", dtype, False)))
            torch.default_generator.manual_seed(0)
            expected = op.op(*on("cpu", (sample.input, *sample.args)), **sample.kwargs)
        except Exception:       # the CPU cannot either
            continue
        named = on("npu", sample.kwargs) | ({"device": "npu"} if "device" in sample.kwargs else {})
        tried += 1
        try:
            torch.npu.manual_seed(0)
            result = op.op(*on("npu", (sample.input, *sample.args)), **named)
            for ours, theirs in zip(tree_leaves(result), tree_leaves(expected), strict=True):
                if isinstance(theirs, torch.Tensor):
                    assert ours.device.type == "npu" and ours.stride() == theirs.stride()
                    torch.testing.assert_close(ours.cpu(), theirs, rtol=0, atol=0, equal_nan=True)
                else:
                    assert ours == theirs or theirs != theirs
        except Exception as error:
            different[op.name] = f"{type(error).__name__}: {error}"
    assert not different
    assert tried > 300
