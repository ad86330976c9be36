# SPDX-License-Identifier: MIT
"""tile_kernels.mhc: the hyper-connection operators, forward against the references, backward against autograd in float64."""

import pytest
import torch

pytestmark = pytest.mark.tilelang

N, M, H = 70, 4, 512


def unwritten(*shape, dtype=torch.float32):
    return torch.full(shape, torch.nan, dtype=dtype).npu()


def close(got, want, **tolerance):
    torch.testing.assert_close(got.cpu(), want.cpu().to(got.dtype).view(got.shape), **tolerance)


def gradients(function, inputs, *out_grads):
    """By autograd in float64; out_grads for the outputs in order."""
    inputs = [x.cpu().double().requires_grad_() for x in inputs]
    outputs = function(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return torch.autograd.grad(outputs, inputs, [g.cpu().double().view(o.shape) for g, o in zip(out_grads, outputs)])


def test_expand(tk, equal):
    x, o = torch.randn(N, H).bfloat16().npu(), unwritten(N, M, H, dtype=torch.bfloat16)
    tk.mhc.expand_to_mhc_fwd(x, o)
    equal(o, tk.torch.mhc.expand_to_mhc_ref(x, M))
    grad = unwritten(N, H, dtype=torch.bfloat16)
    tk.mhc.expand_to_mhc_bwd(o, grad)
    close(grad, o.float().sum(1))


def test_sinkhorn(tk):
    for offset, tolerance in ((0, {}), (100, {"rtol": 1e-5, "atol": 1e-6})):
        x = (torch.randn(N, M, M) + offset).npu()
        out = unwritten(N, M, M)
        tk.mhc.mhc_sinkhorn_fwd(x, out, 10, 1e-6)
        close(out, tk.torch.mhc.sinkhorn_normalize_ref(x.cpu(), 10, 1e-6), **tolerance)
    grad, x_grad = torch.randn(N, M, M).npu(), unwritten(N, M, M)
    x = torch.randn(N, M, M).npu()
    tk.mhc.mhc_sinkhorn_bwd(grad, x, x_grad, 10, 1e-6)
    (want,) = gradients(lambda x: tk.torch.mhc.sinkhorn_normalize_ref(x, 10, 1e-6), [x], grad)
    close(x_grad, want, rtol=1e-4, atol=1e-5)


def test_head_compute_mix(tk):
    x, scale, base = torch.randn(N, M).npu(), torch.randn(1).npu(), torch.randn(M).npu()
    out = unwritten(N, M)
    tk.mhc.mhc_head_compute_mix_fwd(x, scale, base, out, 1e-2)
    close(out, tk.torch.mhc.mhc_head_compute_mix_ref(x.cpu(), scale.cpu(), base.cpu(), 1e-2), rtol=1e-4, atol=1e-5)
    grad, workers = torch.randn(N, M).npu(), tk.get_num_sms()
    x_grad, scale_partial, base_partial = unwritten(N, M), unwritten(workers, 1), unwritten(workers, M)
    tk.mhc.mhc_head_compute_mix_bwd(grad, x, scale, base, x_grad, scale_partial, base_partial, workers)
    want = gradients(lambda *a: tk.torch.mhc.mhc_head_compute_mix_ref(*a, 1e-2), [x, scale, base], grad)
    for got, expected in zip((x_grad, scale_partial.sum(0), base_partial.sum(0)), want):
        close(got, expected, rtol=1e-4, atol=1e-4)


def test_pre_split_mixes(tk):
    x, scale, base = torch.randn(N, 24).npu(), torch.randn(3).npu(), torch.randn(24).npu()
    outs = unwritten(N, M), unwritten(N, M), unwritten(N, M * M)
    tk.mhc.mhc_pre_split_mixes_fwd(x, scale, base, *outs, 2.0, 1e-2)

    def reference(x, scale, base):
        return tk.torch.mhc.mhc_pre_split_mixes_ref(x.view(1, N, 24), scale, base, M, 2.0, 1e-2)
    for got, want in zip(outs, reference(x.cpu(), scale.cpu(), base.cpu())):
        close(got, want, rtol=1e-5, atol=2e-5)
    grads = [torch.randn(*out.shape).npu() for out in outs]
    x_grad, scale_grad, base_grad = unwritten(N, 24), unwritten(3), unwritten(24)
    tk.mhc.mhc_pre_split_mixes_bwd(*grads, x, outs[1], scale, base, x_grad, scale_grad, base_grad, 2.0)
    for got, want in zip((x_grad, scale_grad, base_grad), gradients(reference, [x, scale, base], *grads)):
        close(got, want, rtol=1e-4, atol=1e-4)


def test_pre_apply_mix(tk):
    x, mix = torch.randn(N, M, H).bfloat16().npu(), torch.rand(N, M).npu()
    out = unwritten(N, H, dtype=torch.bfloat16)
    tk.mhc.mhc_pre_apply_mix_fwd(x, mix, out)
    close(out, (x.cpu().float() * mix.cpu().unsqueeze(-1)).sum(1), atol=1e-2, rtol=1e-3)
    grad = torch.randn(N, H).bfloat16().npu()
    x_grad = torch.zeros(N, M, H, dtype=torch.bfloat16).npu()
    mix_grad = tk.mhc.mhc_pre_apply_mix_bwd(grad, x, mix, x_grad)
    want_x, want_mix = gradients(lambda x, mix: (x * mix.unsqueeze(-1)).sum(1), [x, mix], grad)
    close(x_grad, want_x, atol=1e-2, rtol=1e-2)
    close(mix_grad, want_mix, atol=1e-3, rtol=1e-4)


def post_reference(x, residual, post, comb):
    return x.unsqueeze(-2) * post + torch.einsum("abmn,abmc->abnc", comb, residual)


def post_inputs():
    return [t.npu() for t in (torch.randn(2, 35, H).bfloat16(), torch.randn(2, 35, M, H).bfloat16(), torch.rand(2, 35, M, 1), torch.rand(2, 35, M, M))]


def test_post(tk):
    inputs = post_inputs()
    out = tk.mhc.mhc_post_fwd(*inputs)
    close(out, tk.torch.mhc.mhc_post_ref(*[x.cpu() for x in inputs]))
    grad = torch.randn(2, 35, M, H).bfloat16().npu()
    got = tk.mhc.mhc_post_bwd(*inputs, grad)
    want = gradients(post_reference, inputs, grad)
    for index, (one, other) in enumerate(zip(got, want)):
        close(one, other, **({"rtol": 2e-2, "atol": 2e-2} if index < 2 else {"rtol": 1e-4, "atol": 1e-3}))


def test_fn_normw_merge(tk, equal):
    fn, weight, out = torch.randn(24, 512).npu(), torch.randn(512).npu(), unwritten(24, 512)
    tk.mhc.mhc_fn_normw_merge_fwd(fn, weight, out)
    equal(out, fn * weight)
    grad, fn_grad, weight_grad = torch.randn(24, 512).npu(), torch.ones(24, 512).npu(), torch.ones(512).npu()
    tk.mhc.mhc_fn_normw_merge_bwd(fn, weight, grad, fn_grad, weight_grad)
    close(fn_grad, 1 + (grad * weight).cpu(), rtol=1e-5, atol=1e-5)
    close(weight_grad, 1 + (grad * fn).cpu().sum(0), rtol=1e-4, atol=1e-4)


def reduced(mul, sqrsum, group, eps):
    mul, sqrsum = mul.sum(0), sqrsum.sum(0)
    return (mul * (sqrsum.unsqueeze(-1) / group + eps).rsqrt()).sum(1)


def test_reduce_partials_and_rmsnorm(tk):
    splits, group, eps = 2, M * H, 1e-6
    mul, sqrsum = torch.randn(splits, N, 1, 24).npu(), (torch.rand(splits, N, 1) * group).npu()
    outs = unwritten(N, 1, 24), unwritten(N, 1), unwritten(N, 24)
    tk.mhc.mhc_reduce_partials_and_rmsnorm_fwd(mul, sqrsum, *outs, group, eps, splits)
    close(outs[0], mul.cpu().sum(0))
    close(outs[2], reduced(mul.cpu(), sqrsum.cpu(), group, eps))
    grad, mul_grad, sqrsum_grad = torch.randn(N, 24).npu(), unwritten(N, 1, 24), unwritten(N, 1)
    tk.mhc.mhc_reduce_partials_and_rmsnorm_bwd(grad, outs[0], outs[1], mul_grad, sqrsum_grad, group, eps)
    want = gradients(lambda m, s: reduced(m.unsqueeze(0), s.unsqueeze(0), group, eps), [outs[0], outs[1]], grad)
    close(mul_grad, want[0], rtol=1e-4, atol=1e-5)
    close(sqrsum_grad, want[1], rtol=1e-4, atol=1e-7)


def test_pre_big_fuse_is_the_composition(tk, equal):
    mul, sqrsum = torch.randn(1, N, 24).npu(), (torch.rand(1, N) * M * H).npu()
    scale, base, residual = torch.randn(3).npu(), torch.randn(24).npu(), torch.randn(N, M, H).bfloat16().npu()
    post, comb, layer_input = unwritten(N, M), unwritten(N, M * M), unwritten(N, H, dtype=torch.bfloat16)
    tk.mhc.mhc_pre_big_fuse_fwd(mul, sqrsum, scale, base, residual, post, comb, layer_input, 1e-6, 1e-2, 1e-6, 2.0, 10, 1)

    mixes = unwritten(N, 24)
    tk.mhc.mhc_reduce_partials_and_rmsnorm_fwd(mul.view(1, N, 1, 24), sqrsum.view(1, N, 1), unwritten(N, 1, 24), unwritten(N, 1), mixes, M * H, 1e-6, 1)
    pre, want_post, raw, want_comb = unwritten(N, M), unwritten(N, M), unwritten(N, M * M), unwritten(N, M, M)
    tk.mhc.mhc_pre_split_mixes_fwd(mixes, scale, base, pre, want_post, raw, 2.0, 1e-2)
    tk.mhc.mhc_sinkhorn_fwd(raw.view(N, M, M), want_comb, 10, 1e-6)
    want_input = unwritten(N, H, dtype=torch.bfloat16)
    tk.mhc.mhc_pre_apply_mix_fwd(residual, pre, want_input)
    equal(post, want_post)
    equal(comb, want_comb.view(N, M * M))
    equal(layer_input, want_input)


def test_multilayer_recompute_is_the_composition(tk, equal):
    layers = 3
    residual = torch.randn(1, N, M, H).bfloat16().npu()
    pre = [torch.rand(1, N, M, 1).npu() for _ in range(layers)]
    outputs = [torch.randn(1, N, H).bfloat16().npu() for _ in range(layers)]
    post, comb = ([torch.rand(1, N, M, last).npu() for _ in range(layers)] for last in (1, M))
    inputs = [unwritten(1, N, H, dtype=torch.bfloat16) for _ in range(layers)]
    residuals = [unwritten(1, N, M, H, dtype=torch.bfloat16) for _ in range(layers)]
    tk.mhc.mhc_multilayer_recompute(residual, pre, outputs, post, comb, inputs, residuals)
    current = residual
    for layer in range(layers):
        want = unwritten(N, H, dtype=torch.bfloat16)
        tk.mhc.mhc_pre_apply_mix_fwd(current.view(N, M, H), pre[layer].view(N, M), want)
        equal(inputs[layer].view(N, H), want)
        current = tk.mhc.mhc_post_fwd(outputs[layer], current, post[layer], comb[layer])
        equal(residuals[layer], current)
