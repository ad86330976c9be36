# SPDX-License-Identifier: MIT
"""tile_kernels.engram: n-gram hashes, the gate and its gradient, Sinkhorn steps of the optimiser."""

import pytest
import torch

pytestmark = pytest.mark.tilelang

T, HC, H = 70, 4, 512
EPS, CLAMP = 1e-20, 1e-6


def test_fused_weight(tk, equal):
    a, b = (torch.randn(HC, H).bfloat16().npu() for _ in range(2))
    equal(tk.engram.fused_weight(a, b), a.float() * b.float())


@pytest.mark.parametrize("ngram, with_mask", [(3, False), (3, True), (4, True)])
def test_hash(tk, equal, ngram, with_mask):
    layers, tables = 2, 8
    ids = torch.randint(0, 100000, (T, ngram), dtype=torch.int32)
    multipliers = torch.randint(0, 2**40, (layers, ngram))
    vocabularies = torch.randint(1000, 100000, (layers, ngram - 1, tables), dtype=torch.int32)
    offsets = tk.torch.engram.make_offsets(vocabularies)
    mask = torch.rand(T) < 0.3 if with_mask else None
    got = tk.engram.engram_hash(*[x.npu() for x in (ids, multipliers, vocabularies, offsets)], image_token_mask=mask.npu() if with_mask else None)
    equal(got, tk.torch.engram.engram_hash_ref(ids, multipliers, vocabularies, offsets, mask))


def gate_inputs():
    return torch.randn(T, HC, H).bfloat16(), torch.randn(T, HC + 1, H).bfloat16(), torch.randn(HC, H).bfloat16(), torch.randn(HC, H).bfloat16()


def gate(x, kv, w):
    """In float64: what autograd differentiates."""
    k, v = kv[:, :HC], kv[:, HC]
    rx, rk = ((t.square().mean(-1) + EPS).rsqrt() for t in (x, k))
    d = (x * w * k).sum(-1) * rx * rk * H**-0.5
    return x + (d.sign() * d.abs().clamp(min=CLAMP).sqrt()).sigmoid().unsqueeze(-1) * v.unsqueeze(1)


def test_gate_forward_and_backward(tk):
    x, kv, weight_hidden, weight_embed = gate_inputs()
    fused = weight_hidden.float() * weight_embed.float()
    got = tk.engram.engram_gate_fwd(x.npu(), kv.npu(), fused.npu(), EPS, CLAMP)
    want = tk.torch.engram.engram_gate_ref(x, kv, weight_hidden, weight_embed, CLAMP, EPS, save_for_backward=True)
    for one, other in zip(got, want):
        assert tk.testing.numeric.calc_diff(one.cpu().float(), other.float()) < 2e-10
    wide = [t.double().requires_grad_() for t in (x, kv, fused)]
    grad = torch.randn(T, HC, H).bfloat16()
    want = torch.autograd.grad(gate(*wide), wide, grad.double())
    _, dot, score, rstd_x, rstd_k = got
    grad_x, grad_kv, grad_w = tk.engram.engram_gate_bwd(grad.npu(), x.npu(), kv.npu(), fused.npu(), dot, score, rstd_x, rstd_k, CLAMP)
    torch.testing.assert_close(grad_x.cpu().double(), want[0], rtol=8e-3, atol=7e-3)
    torch.testing.assert_close(grad_kv.cpu().double(), want[1], rtol=8e-3, atol=7e-3)
    torch.testing.assert_close(grad_w.cpu().double().sum(0), want[2], rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("with_mask", [False, True])
def test_gate_in_place(tk, equal, with_mask):
    x, kv, weight_hidden, weight_embed = gate_inputs()
    mask = torch.rand(T) < 0.3 if with_mask else None
    on_npu = x.npu()
    fused = weight_hidden.float() * weight_embed.float()
    out, *saved = tk.engram.engram_gate_fwd(on_npu, kv.npu(), fused.npu(), EPS, CLAMP, save_for_backward=False, inplace=True,
                                            image_token_mask=mask.npu() if with_mask else None)
    assert out.data_ptr() == on_npu.data_ptr() and saved == [None] * 4
    want = tk.torch.engram.engram_gate_ref(x, kv, weight_hidden, weight_embed, CLAMP, EPS, image_token_mask=mask)
    assert tk.testing.numeric.calc_diff(out.cpu().float(), want.float()) < 2e-10
    if with_mask:
        equal(out.cpu()[mask], x[mask])
    else:
        equal(out, tk.engram.engram_gate_fwd(x.npu(), kv.npu(), fused.npu(), EPS, CLAMP)[0])        # the kernel that saves gives the same


@pytest.mark.parametrize("main_grad", [False, True])
def test_the_differentiable_gate_with_image_tokens(tk, main_grad):
    from tile_kernels.modeling.engram.engram_gate import engram_gate

    x, kv, *weights = gate_inputs()
    mask, grad = torch.rand(T) < 0.3, torch.randn(T, HC, H).bfloat16()
    leaves = [t.npu().requires_grad_() for t in (x.view(2, T // 2, HC, H), kv.view(2, T // 2, (HC + 1) * H), *weights)]
    if main_grad:
        for weight in leaves[2:]:
            weight.main_grad = torch.ones(HC, H).npu()
    engram_gate(*leaves, CLAMP, EPS, mask.view(2, T // 2).npu()).backward(grad.view(2, T // 2, HC, H).npu())
    wide = [t.double().requires_grad_() for t in (x, kv, *weights)]
    out = torch.where(mask.view(T, 1, 1), wide[0], gate(wide[0], wide[1], wide[2] * wide[3]))
    want = torch.autograd.grad(out, wide, grad.double())
    got = [leaves[0].grad, leaves[1].grad] + [weight.main_grad - 1 if main_grad else weight.grad for weight in leaves[2:]]
    # autograd rounds the gradient of a bf16 leaf to bf16; main_grad is fp32
    tolerances = [dict(rtol=8e-3, atol=7e-3)] * 2 + [dict(rtol=1e-4 if main_grad else 2**-8, atol=1e-3)] * 2
    for one, other, tolerance in zip(got, want, tolerances):
        torch.testing.assert_close(one.cpu().double().view(other.shape), other, **tolerance)
    assert (leaves[2].grad is None) == main_grad


def test_grad_w_reduce(tk):
    partial = torch.randn(16, HC, H)
    hidden, embed = torch.randn(HC, H).bfloat16(), torch.randn(HC, H).bfloat16()
    grads = torch.ones(HC, H).npu(), torch.ones(HC, H).npu()
    tk.engram.grad_w_reduce(partial.npu(), hidden.npu(), embed.npu(), *grads)
    total = partial.double().sum(0)
    for got, weight in zip(grads, (embed, hidden)):
        torch.testing.assert_close(got.cpu().double(), 1 + total * weight.double(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("nesterov, grad_dtype, momentum_dtype", [
    (True, torch.bfloat16, torch.float32), (False, torch.bfloat16, torch.float32), (True, torch.float32, torch.bfloat16),
])
def test_sinkhorn_momentum(tk, equal, nesterov, grad_dtype, momentum_dtype):
    for rows in (1001, 0):
        grad, momentum = torch.randn(256 * rows).to(grad_dtype), torch.randn(256 * rows).to(momentum_dtype)
        on_npu = momentum.npu()
        got = tk.engram.engram_sinkhorn_momentum_update(grad.npu(), on_npu, 0.9, nesterov)
        beta = torch.tensor(0.9, dtype=torch.float32).double()
        wide = grad.float() * torch.tensor(1 - 0.9, dtype=torch.float32)
        fused = (wide.double() + momentum.double() * beta).float()
        equal(on_npu, fused.to(momentum_dtype))
        equal(got, (wide.double() + fused.double() * beta).float() if nesterov else fused)


def test_sinkhorn_steps(tk):
    matrix, rows, cols = torch.randn(70, 256), torch.rand(70) + 0.5, torch.rand(256) + 0.5
    on_npu = rows.npu()
    norm, partial = tk.engram.engram_sinkhorn_step(matrix.npu(), on_npu, cols.npu(), 1e-6)
    sums = torch.full((256,), torch.nan).npu()
    tk.engram.engram_sinkhorn_step_reduce(partial, sums)
    want_rows, want_sums = rows.clone(), torch.empty(256)
    want_norm = tk.torch.engram.engram_sinkhorn_step_ref(matrix, want_rows, cols, want_sums, 1e-6)
    torch.testing.assert_close(norm.cpu(), want_norm)
    torch.testing.assert_close(on_npu.cpu(), want_rows)
    torch.testing.assert_close(sums.cpu(), want_sums, rtol=3e-6, atol=1e-5)
    out = tk.engram.engram_sinkhorn_finalize(matrix.npu(), rows.npu(), cols.npu(), 1e-6, 0.3)
    torch.testing.assert_close(out.cpu(), tk.torch.engram.engram_sinkhorn_finalize_ref(matrix, rows, cols, 1e-6, 0.3))
