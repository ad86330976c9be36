# SPDX-License-Identifier: MIT
"""How tests compare: every tolerance comes with the reason why it is what it is."""

import torch

FP32_EPS = 2.0**-24                 # half a unit in the last place, relative
_MANTISSA_BITS = {torch.float32: 23, torch.bfloat16: 7, torch.float16: 10}


def assert_close(result: torch.Tensor, expected: torch.Tensor, *, ulp: float, floor: float = 0.0, why: str) -> None:
    """|result - expected| <= ulp * (unit in the last place of `expected` in result's dtype) + floor; NaN only where NaN is expected.

    `floor` may be a tensor: an absolute allowance per element, e.g. of fp32 sums of large terms that cancel.
    """
    assert result.shape == expected.shape, f"shapes: {list(result.shape)}, expected {list(expected.shape)}"
    got, want = result.detach().cpu().double(), expected.detach().cpu().double()
    assert torch.equal(got.isnan(), want.isnan()), f"NaN in {int((got.isnan() != want.isnan()).sum())} places where the other has none"
    smallest = torch.finfo(result.dtype).tiny
    exponent = torch.floor(torch.log2(want.abs().clamp(smallest)))
    allowed = ulp * torch.exp2(exponent - _MANTISSA_BITS[result.dtype]) + floor
    error = torch.where(got == want, 0.0, (got - want).abs()).nan_to_num(0.0)
    excess = error / allowed
    if (excess > 1).any():
        flat = int(excess.argmax())
        index = [int(i) for i in torch.unravel_index(torch.tensor(flat), excess.shape)]
        raise AssertionError(
            f"{int((excess > 1).sum())} of {excess.numel()} elements are off, the worst at {index}: {got.flatten()[flat]!r}, expected "
            f"{want.flatten()[flat]!r}, {excess.flatten()[flat]:.3g} times the allowance of {ulp} ulp + floor ({why})"
        )


def assert_same_bytes(result: torch.Tensor, expected: torch.Tensor) -> None:
    from deep_gemm.testing import assert_bitwise_equal
    assert_bitwise_equal(result.cpu(), expected.cpu())


def rms_error(result: torch.Tensor, expected: torch.Tensor) -> float:
    """Root of the mean square of the difference over that of `expected`."""
    got, want = result.detach().cpu().double(), expected.detach().cpu().double()
    return ((got - want).square().mean() / want.square().mean()).sqrt().item()
