# SPDX-License-Identifier: MIT
"""Random calls of deep_gemm: right on every backend that takes them, or refused with a clear error before anything is written.

ascend and torch take the same calls and agree; cuda (SM100, SM90) agrees wherever it takes a call, too. Strict mode refuses exactly the calls
that warn. The default run makes a few hundred calls. `make fuzz` makes 10 000; FUZZ_CALLS and FUZZ_SEED choose others.
"""

import importlib.util
import os
import warnings
from collections import Counter
from dataclasses import dataclass

import deep_gemm
import pytest
import torch
from ascend_sim import backends, layouts, parity
from ascend_sim.errors import AscendParityError, AscendParityWarning
from deep_gemm.testing import calc_diff
from fuzz import calls

CALLS, SEED = int(os.environ.get("FUZZ_CALLS", "300")), int(os.environ.get("FUZZ_SEED", "0"))
REFUSALS = (ValueError, TypeError, NotImplementedError, RuntimeError)
CUDA = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass
class Outcome:
    call: calls.Call
    error: Exception | None
    result: torch.Tensor | None
    strides: tuple[int, ...] | None
    is_untouched: bool
    warned: bool


def outcome(seed: int, backend: str) -> Outcome:
    parity.forget()
    deep_gemm.ceil_div(1, 1)                # reports all helpers, once
    with backends.use(backend), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call = calls.make(seed, "npu" if backend == "ascend" else CUDA if backend.startswith("cuda") else "cpu")
        before = call.d.cpu().clone() if call.is_gemm else None
        error = result = strides = None
        try:
            result = call.run(deep_gemm)
            strides, result = result.stride(), result.cpu()
        except REFUSALS as caught_error:
            error = caught_error
        is_untouched = before is None or same_bytes(call.d.cpu(), before)
    return Outcome(call, error, result, strides, is_untouched, any(w.category is AscendParityWarning for w in caught))


def same_bytes(x: torch.Tensor, y: torch.Tensor) -> bool:
    raw = {2: torch.int16, 4: torch.int32}[x.element_size()]
    return torch.equal(x.view(raw), y.view(raw))


def differ(x: torch.Tensor, y: torch.Tensor) -> str | None:
    """How two results of a GEMM differ, or None."""
    if x.numel() == 0:
        return None
    if not torch.equal(x.isnan(), y.isnan()):
        return "NaN in different places"
    difference = calc_diff(x.nan_to_num(), y.nan_to_num())
    # One ulp of a bf16 result next to a tie is 2^-8 of an element; alone in a small D it is all of the difference.
    return None if difference < (1e-5 if x.numel() > 64 else 2e-5) else f"calc_diff {difference:.3g}"


def differ_as_scales(of_cuda: torch.Tensor, of_torch: torch.Tensor, call: calls.Call) -> str | None:
    """Results of the transform in the two libraries' layouts: the same scales."""
    mn, k, recipe = call.arguments[1:4]
    gran_k = recipe[-1]
    if of_torch.dtype == torch.float32 or of_cuda.dtype == torch.float32:
        # fp32 that stays fp32: SM100 would refuse it; where only cuda keeps it (disable_ue8m0_cast) there is nothing to compare with.
        return None if of_torch.dtype != of_cuda.dtype or torch.equal(of_cuda.view(torch.int32), of_torch.contiguous().view(torch.int32)) else "fp32 differs"
    there = layouts.convert(of_cuda, layouts.sm100(gran_k), layouts.ascend(), mn=mn, k=k)
    return None if torch.equal(there, of_torch) else "other scales"


def judge(seed: int, counts: Counter) -> str | None:
    """What is wrong with the call of this seed, or None."""
    ascend, definition = outcome(seed, "ascend"), outcome(seed, "torch")
    for one in (ascend, definition):
        if one.error is not None and (not one.is_untouched or type(one.error).__name__ == "LaunchError" or len(str(one.error)) < 20):
            return f"{one.call}: {type(one.error).__name__}: {one.error}; d {'as it was' if one.is_untouched else 'WRITTEN'}"
    if "device" in ascend.call.wrong and str(ascend.call) != str(definition.call).replace("@cpu", "@npu"):
        result = ascend.call.d if ascend.call.is_gemm else ascend.result
        return None if ascend.error is not None or result.numel() == 0 else f"{ascend.call}: a tensor on another device was accepted"
    if (ascend.error is None) != (definition.error is None) or ascend.warned != definition.warned:
        return f"{ascend.call}: ascend {ascend.error!r} warned {ascend.warned}, torch {definition.error!r} warned {definition.warned}"
    if ascend.error is None:
        counts["computed"] += 1
        if ascend.call.is_gemm:
            fault = differ(ascend.result, definition.result)
        else:
            fault = None if ascend.strides == definition.strides and same_bytes(ascend.result, definition.result) else "other bytes"
        if fault:
            return f"{ascend.call}: ascend and torch: {fault}"
    return judge_cuda(seed, definition, counts) or (judge_strict(seed, definition) if seed % 2 else None)


def judge_strict(seed: int, loose: Outcome) -> str | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_STRICT", "1")
        with backends.use("torch"):
            call = calls.make(seed, "cpu")
            before = call.d.clone() if call.is_gemm else None
            try:
                call.run(deep_gemm)
                error = None
            except REFUSALS as caught:
                error = caught
    if isinstance(error, AscendParityError) and before is not None and not same_bytes(call.d, before):
        return f"{call}: strict: {error}; d WRITTEN"
    expected = loose.error is not None or loose.warned
    if (error is not None) != expected or (loose.error is None and error is not None and not isinstance(error, AscendParityError)):
        return f"{call}: strict {error!r}, otherwise {loose.error!r}, warned {loose.warned}"
    return None


def judge_cuda(seed: int, definition: Outcome, counts: Counter) -> str | None:
    arch = ("sm100", "sm100", "sm90")[seed % 3]
    cuda = outcome(seed, f"cuda:{arch}")
    if cuda.error is not None:
        if not cuda.is_untouched or len(str(cuda.error)) < 20:
            return f"{cuda.call}: {arch} {type(cuda.error).__name__}: {cuda.error}; d {'as it was' if cuda.is_untouched else 'WRITTEN'}"
        return None
    counts[f"computed on {arch}"] += 1
    if cuda.warned:
        return f"{cuda.call}: {arch} reports a difference from Ascend"
    if definition.error is not None:
        # What only NVIDIA takes: granularities such as 256 rows; on SM90 any value as a scale, also where Ascend would have to convert it.
        only_nvidias = ("gran_mn = ", "expected finite scales", "powers of two", "keeps fp32 scales", "would be converted")
        is_known = any(text in str(definition.error) for text in only_nvidias)
        return None if is_known else f"{cuda.call}: {arch} takes what the others refuse: {definition.error!r}"
    fault = differ(cuda.result, definition.result) if cuda.call.is_gemm else differ_as_scales(cuda.result, definition.result, cuda.call)
    return fault and f"{cuda.call}: {arch} and torch: {fault}"


def test_random_calls_are_right_or_refused(capsys):
    if importlib.util.find_spec("ascend_sim._C") is None:
        pytest.skip("the extension is not built here; make build")
    faults, counts = [], Counter()
    for index, seed in enumerate(range(SEED, SEED + CALLS)):
        fault = judge(seed, counts)
        if fault:
            faults.append(f"seed {seed}: {fault}")
        if CALLS > 1000 and index % 500 == 499:
            with capsys.disabled():
                print(f"{index + 1} calls, {len(faults)} faults; {dict(counts)}", flush=True)
        if len(faults) == 10:
            break
    assert not faults, "\n".join(faults)
    assert counts["computed"] > CALLS / 5 and counts["computed on sm100"] > CALLS / 20 and counts["computed on sm90"] > CALLS / 100, counts
