# SPDX-License-Identifier: MIT
"""tile_kernels.moe: routing to experts."""

import numpy as np
import pytest
import torch
from support import philox
from support.grid import slow

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("experts, topk", [
    (72, 6), (16, 6), (36, 6), (256, 8), slow(32, 6), slow(64, 6), slow(96, 6), slow(108, 6), slow(128, 6), slow(144, 6),
])
def test_topk_gate(tk, equal, experts, topk):
    for tokens in (513, 1, 0):
        scores = torch.randn(tokens, experts)
        scores[:, 7] = scores[:, 3]                 # ties: the smaller index first
        scores[1:9] = 0
        equal(tk.moe.topk_gate(scores.npu(), topk), tk.torch.topk.stable_topk(scores, topk))


@pytest.mark.parametrize("topk", [6, 9])
def test_normalize_weight(tk, topk):
    for tokens in (130, 1, 0):
        weights = torch.rand(tokens, topk)
        total, normalised = tk.moe.normalize_weight(weights.npu())
        torch.testing.assert_close(total.cpu(), weights.sum(1))
        torch.testing.assert_close(normalised.cpu(), weights / weights.sum(1, keepdim=True))


def far_apart(tokens, experts):
    """Scores no two of which are closer than rounding: a permutation of a grid per token."""
    return torch.rand(tokens, experts).argsort(dim=1).float() * 0.05 - 3


def test_moe_topk_gate_forward(tk):
    experts, shared, topk = 256, 2, 8
    for tokens in (130, 0):
        logits, bias = far_apart(tokens, experts), torch.randint(0, 2, (experts,)) * 8.0
        unmapped = [torch.full((tokens, topk), -7, dtype=torch.int64) for _ in range(2)]
        given = (topk, True, shared, 1.5, 3, "sqrtsoftplus")
        scores = torch.full((tokens, experts), torch.nan).npu()
        unmapped_npu = unmapped[0].npu()
        index, weight = tk.moe.moe_topk_gate_forward(logits.npu(), *given, bias=bias.npu(), unmapped_topk_idx=unmapped_npu, scores=scores)
        want_index, want_weight = tk.torch.topk.moe_topk_gate_forward(logits, *given, bias=bias, unmapped_topk_idx=unmapped[1])
        assert torch.equal(index.cpu(), want_index) and torch.equal(unmapped_npu.cpu(), unmapped[1])
        torch.testing.assert_close(weight.cpu(), want_weight)
        torch.testing.assert_close(scores.cpu(), tk.torch.topk.sqrt_softplus_ref(logits))
    zeros, no_bias = torch.zeros(33, experts).npu(), torch.zeros(experts).npu()
    index, weight = tk.moe.moe_topk_gate(zeros, *given, bias=no_bias, unmapped_topk_idx=torch.zeros(33, topk, dtype=torch.int64).npu(),
                                         scores=torch.empty(33, experts).npu())
    assert (index.cpu() == torch.cat([torch.arange(topk), experts + torch.arange(shared)])).all()
    torch.testing.assert_close(weight.cpu(), torch.tensor([1.5 / topk] * topk + [1.0] * shared).expand(33, -1))


@pytest.mark.parametrize("experts", [36, *map(slow, (16, 32, 64, 96, 108, 128, 144))])
def test_moe_topk_gate_forward_with_as_many_experts(tk, experts):
    """The other numbers that the wheel is tested with, 72 being in the next test. No option but bias: lowering one kernel takes TileLang 20 s, and each option more."""
    topk, shared = 6, 2
    logits, bias = far_apart(131, experts), torch.randint(0, 2, (experts,)) * 8.0
    logits[130], bias[:3] = 0, 8.0                      # a tie among all, and among three
    given = (topk, True, shared, 1.5, 3, "sqrtsoftplus")
    index, weight = tk.moe.moe_topk_gate_forward(logits.npu(), *given, bias=bias.npu())
    want_index, want_weight = tk.torch.topk.moe_topk_gate_forward(logits, *given, bias=bias)
    assert torch.equal(index.cpu(), want_index)
    torch.testing.assert_close(weight.cpu(), want_weight)


def drawn(token, rank, slots, experts):
    """What a forced random token gets: one Philox block a lane; distinct experts by shifting later draws past earlier ones."""
    words = philox.words(rank, 0, token * 32 + np.arange(32))
    draws = {lane: int(words[lane, 1]) % (experts - lane) for lane in range(slots)}
    index = [0] * slots
    while draws:
        least = min(draws.values())
        lane = min(lane for lane, draw in draws.items() if draw == least)
        index[lane] = least
        del draws[lane]
        draws = {other: draw + (other > lane and draw >= least) for other, draw in draws.items()}
    return index, philox.uniform(words[:slots, 0])


def test_moe_topk_gate_forward_with_every_option(tk):
    tokens, experts, shared, topk, rank, copies = 513, 72, 1, 6, 3, 3
    logits, bias, image_bias = far_apart(tokens, experts), torch.randn(experts), torch.randn(experts)
    mask, fixed, image, forced = (torch.rand(tokens) < share for share in (0.85, 0.2, 0.3, 0.1))
    count = torch.randint(1, copies + 1, (experts + shared,), dtype=torch.int32)
    physical = torch.randperm((experts + shared) * copies).view(-1, copies).int()
    stored = torch.rand(tokens, experts).topk(topk).indices
    padded = torch.full((tokens, topk + 3), -9, dtype=torch.int64)         # rows lie apart
    padded[:, :topk] = stored
    on_npu, scores = padded.npu(), torch.full((tokens, experts), torch.nan).npu()
    given = (topk, True, shared, 1.5, rank, "sqrtsoftplus")
    tensors = dict(mask=mask, bias=bias, image_bias=image_bias, image_token_mask=image, fix_routing_mask=fixed, to_physical_map=physical, logical_count=count)
    index, weight = tk.moe.moe_topk_gate_forward(logits.npu(), *given, **{name: x.npu() for name, x in tensors.items()}, force_random=forced.npu(),
                                                 unmapped_topk_idx=on_npu[:, :topk], scores=scores)
    unmapped = stored.clone()
    want_index, want_weight = tk.torch.topk.moe_topk_gate_forward(logits, *given, **tensors, unmapped_topk_idx=unmapped)
    index, weight, got_unmapped, scores = index.cpu(), weight.cpu(), on_npu.cpu(), scores.cpu()
    forced &= mask
    routed = mask & ~forced
    assert torch.equal(index[~forced], want_index[~forced]) and torch.equal(got_unmapped[~forced, :topk], unmapped[~forced])
    torch.testing.assert_close(weight[~forced], want_weight[~forced])
    torch.testing.assert_close(scores[routed], tk.torch.topk.sqrt_softplus_ref(logits)[routed])
    assert not scores[~routed].any() and (got_unmapped[forced, :topk] == -1).all() and (got_unmapped[:, topk:] == -9).all()
    for token in forced.nonzero().flatten().tolist():
        want, uniform = drawn(token, rank, topk + shared, int(count.sum()))
        assert index[token].tolist() == want and weight[token].tolist() == uniform.tolist()


@pytest.mark.parametrize("experts, topk, with_aux", [(72, 6, True), (256, 8, False)])
def test_moe_topk_gate_backward(tk, experts, topk, with_aux):
    tokens = 128
    logits = far_apart(tokens, experts)
    scores = tk.torch.topk.sqrt_softplus_ref(logits)
    index, weight = tk.torch.topk.moe_topk_gate_forward(logits, topk, False, 0, 1.5, 0, "sqrtsoftplus")
    index[5:9] = -1
    index[9:20, 3] = -1
    index[20:30, 4] = index[20:30, 1]           # an expert twice
    grad, mask, aux = torch.randn(tokens, topk), torch.rand(tokens) < 0.8, torch.randn(2, experts)
    mask[5:7] = False
    more = dict(mask=mask, grad_scores_sum=aux) if with_aux else {}
    got = tk.moe.moe_topk_gate_backward(scores.npu(), index.npu(), weight.npu(), grad.npu(), 1.5, **{name: x.npu() for name, x in more.items()}).cpu()
    want = tk.torch.topk.moe_topk_gate_backward(scores, index, weight, grad, 1.5, "sqrtsoftplus", **more)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5 * want.abs().max().item())
    assert not got[5:7].any() and (with_aux or not got[5:9].any())
