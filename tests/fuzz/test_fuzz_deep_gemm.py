# SPDX-License-Identifier: MIT
"""Random calls of the dense GEMMs: right on both backends, or refused by both with a clear error and d as it was.

The default run makes a few hundred calls. `make fuzz` makes 10 000; FUZZ_CALLS and FUZZ_SEED choose others.
"""

import importlib.util
import os
import warnings

import deep_gemm
import pytest
import torch
from ascend_sim import backends
from deep_gemm.testing import calc_diff
from fuzz import calls

CALLS, SEED = int(os.environ.get("FUZZ_CALLS", "300")), int(os.environ.get("FUZZ_SEED", "0"))
REFUSALS = (ValueError, TypeError, NotImplementedError, RuntimeError)


def outcome(seed: int, backend: str):
    """The error or the result, and whether d is untouched."""
    with backends.use(backend):
        call = calls.make(seed, "npu" if backend == "ascend" else "cpu")
        before = call.d.cpu().clone()
        keywords = dict(call.keywords)
        if call.accumulate:
            keywords["c"] = call.d
        try:
            getattr(deep_gemm, call.function)(call.a, call.b, call.d, **keywords)
        except REFUSALS as error:
            untouched = torch.equal(call.d.cpu().view(torch.uint8 if call.d.dim() else call.d.dtype), before.view(torch.uint8))
            return call, error, None, untouched
        return call, None, call.d.cpu(), True


def judge(seed: int) -> str | None:
    """What is wrong with the call of this seed, or None."""
    call, error, result, untouched = outcome(seed, "ascend")
    if error is not None and (not untouched or type(error).__name__ == "LaunchError" or len(str(error)) < 20):
        return f"{call}: {type(error).__name__}: {error}; d {'as it was' if untouched else 'WRITTEN'}"
    if "device" in call.wrong:
        return None if error is not None or call.d.numel() == 0 else f"{call}: a tensor on another device was accepted"
    _, torch_error, torch_result, _ = outcome(seed, "torch")
    if (error is None) != (torch_error is None):
        return f"{call}: ascend {error!r}, torch {torch_error!r}"
    if error is not None or result.numel() == 0:
        return None
    if not torch.equal(result.isnan(), torch_result.isnan()):
        return f"{call}: NaN in different places"
    difference = calc_diff(result.nan_to_num(), torch_result.nan_to_num())
    # One ulp of a bf16 result next to a tie is 2^-8 of an element; alone in a small D it is all of the difference.
    limit = 1e-5 if result.numel() > 64 else 2e-5
    return None if difference < limit else f"{call}: calc_diff {difference:.3g}"


def test_random_calls_are_right_or_refused(capsys):
    if importlib.util.find_spec("ascend_sim._C") is None:
        pytest.skip("the extension is not built here; make build")
    faults = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, seed in enumerate(range(SEED, SEED + CALLS)):
            fault = judge(seed)
            if fault:
                faults.append(f"seed {seed}: {fault}")
            if CALLS > 1000 and index % 500 == 499:
                with capsys.disabled():
                    print(f"{index + 1} calls, {len(faults)} faults", flush=True)
            if len(faults) == 10:
                break
    assert not faults, "\n".join(faults)
