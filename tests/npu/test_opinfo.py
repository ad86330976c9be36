# SPDX-License-Identifier: MIT
"""PyTorch's own operator samples give on npu, bit for bit, what they give on the CPU."""

import collections
import itertools
import warnings

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

pytest.importorskip("expecttest", reason="PyTorch's operator samples need the package expecttest")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

# What differs, and why. docs/device.md shows the same table.
EXPECTED = {
    "tensor_split": "the index tensor must stay on the CPU, on every device",
    "to": "the sample itself names the CPU as its target",
    "to_sparse": "no sparse layouts on npu",
    "sparse.mm": "no sparse layouts on npu",
    "sparse.sampled_addmm": "no sparse layouts on npu",
    "nn.functional.linear_cross_entropy": "its chunked form, written in Python, sums in fp32 on the CPU only",
}
# The same, of samples beyond an operator's first.
EXPECTED_OF_LATER_SAMPLES = {
    "arange": "a sample that names no device is made on the CPU",
    "linspace": "a sample that names no device is made on the CPU",
    "logspace": "a sample that names no device is made on the CPU",
    "as_strided": "the sample reads memory beside its tensor, which a copy to the device leaves behind",
    "linalg.lstsq": "LAPACK's driver gelsy gives other last bits from call to call, on the CPU too",
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


def difference(op, sample) -> str | None:
    """What npu does otherwise than the CPU, bit for bit, or ""; None: the CPU cannot do this sample either."""
    try:
        torch.default_generator.manual_seed(0)      # not torch.manual_seed, which looks through the whole call stack
        expected = op.op(*on("cpu", (sample.input, *sample.args)), **sample.kwargs)
    except Exception:
        return None
    named = on("npu", sample.kwargs) | ({"device": "npu"} if "device" in sample.kwargs else {})
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
        return f"{type(error).__name__}: {error}"
    return ""


def samples(op, dtype, count: int | None):
    try:
        torch.default_generator.manual_seed(7)
        yield from itertools.islice(op.sample_inputs_func(op, "cpu", dtype, False), count)
    except Exception:       # some cannot make theirs for every type
        return


def base_name(op) -> str:
    return op.name if op.variant_test_name != "reduce" else op.name.removesuffix(".reduce")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [
    torch.float32, torch.bfloat16, *[pytest.param(dtype, marks=pytest.mark.slow) for dtype in (torch.complex64, torch.int64)],
], ids=str)
def test_every_operator_equals_the_cpus(dtype):
    """On its first sample."""
    different, tried = {}, 0
    for op in op_db:
        if dtype not in op.supported_dtypes("cpu") or base_name(op) in EXPECTED or op.name in UNINITIALISED:
            continue
        for sample in samples(op, dtype, 1):
            found = difference(op, sample)
            tried += found is not None
            if found:
                different[op.name] = found
    assert not different
    assert tried > 300


@pytest.mark.opinfo
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_every_sample_of_every_operator(dtype):
    """At least 99 % of the samples that the CPU can do are done alike, and whatever is not is in the table above."""
    tried, different = 0, collections.Counter()
    reasons = {}
    for op in op_db:
        if dtype not in op.supported_dtypes("cpu") or op.name in UNINITIALISED:
            continue
        for sample in samples(op, dtype, None):
            found = difference(op, sample)
            tried += found is not None
            if found:
                different[base_name(op)] += 1
                reasons.setdefault(base_name(op), found.splitlines()[0][:150])
    failed = sum(different.values())
    print(f"\n{dtype}: {tried} samples, {failed} differ ({100 * failed / tried:.2f} %)")
    for name, count in different.most_common():
        print(f"  {count:4} {name}: {reasons[name]}")
    assert failed <= 0.01 * tried
    assert set(different) <= EXPECTED.keys() | EXPECTED_OF_LATER_SAMPLES.keys()
