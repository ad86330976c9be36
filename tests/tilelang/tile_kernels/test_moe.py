# SPDX-License-Identifier: MIT
"""tile_kernels.moe: routing to experts."""

import pytest
import torch

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("experts, topk", [(72, 6), (256, 8)])
def test_topk_gate(tk, equal, experts, topk):
    scores = torch.randn(130, experts)
    scores[:, 7] = scores[:, 3]                 # ties: the smaller index first
    equal(tk.moe.topk_gate(scores.npu(), topk), tk.torch.topk.stable_topk(scores, topk))


def test_normalize_weight(tk):
    weights = torch.rand(130, 6)
    total, normalised = tk.moe.normalize_weight(weights.npu())
    torch.testing.assert_close(total.cpu(), weights.sum(1))
    torch.testing.assert_close(normalised.cpu(), weights / weights.sum(1, keepdim=True))


def far_apart(tokens, experts):
    """Scores no two of which are closer than rounding: a permutation of a grid per token."""
    return torch.stack([torch.randperm(experts) for _ in range(tokens)]).float() * 0.05 - 3


@pytest.mark.parametrize("experts, shared, topk", [(72, 1, 6), (256, 2, 8)])
def test_moe_topk_gate_forward(tk, equal, experts, shared, topk):
    logits, bias = far_apart(130, experts), torch.zeros(experts)
    unmapped = [torch.full((130, topk), -7, dtype=torch.int64) for _ in range(2)]
    given = (topk, True, shared, 1.5, 3, "sqrtsoftplus")
    scores = torch.full((130, experts), torch.nan).npu()
    unmapped_npu = unmapped[0].npu()
    index, weight = tk.moe.moe_topk_gate_forward(logits.npu(), *given, bias=bias.npu(), unmapped_topk_idx=unmapped_npu, scores=scores)
    want_index, want_weight = tk.torch.topk.moe_topk_gate_forward(logits, *given, bias=bias, unmapped_topk_idx=unmapped[1])
    assert torch.equal(index.cpu(), want_index) and torch.equal(unmapped_npu.cpu(), unmapped[1])
    torch.testing.assert_close(weight.cpu(), want_weight)
    torch.testing.assert_close(scores.cpu(), tk.torch.topk.sqrt_softplus_ref(logits))


def test_moe_topk_gate_backward(tk):
    tokens, experts, topk = 128, 72, 6
    logits = far_apart(tokens, experts)
    scores = tk.torch.topk.sqrt_softplus_ref(logits)
    index, weight = tk.torch.topk.moe_topk_gate_forward(logits, topk, False, 0, 1.5, 0, "sqrtsoftplus")
    index[5:9] = -1
    grad, mask, aux = torch.randn(tokens, topk), torch.rand(tokens) < 0.8, torch.randn(2, experts)
    got = tk.moe.moe_topk_gate_backward(scores.npu(), index.npu(), weight.npu(), grad.npu(), 1.5, mask=mask.npu(), grad_scores_sum=aux.npu())
    want = tk.torch.topk.moe_topk_gate_backward(scores, index, weight, grad, 1.5, "sqrtsoftplus", mask=mask, grad_scores_sum=aux)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-5 * want.abs().max().item())
