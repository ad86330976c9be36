# SPDX-License-Identifier: MIT
"""tile_kernels.mhc: the hyper-connection operators, forward against the references, backward against autograd in float64."""

import pytest
import torch
from ascend_sim import config
from support.grid import slow

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


@pytest.mark.parametrize("streams, hidden", [(4, 2560), slow(2, 1280), (8, 7168)])
def test_expand(tk, equal, streams, hidden):
    x, o = torch.randn(N, hidden).bfloat16().npu(), unwritten(N, streams, hidden, dtype=torch.bfloat16)
    tk.mhc.expand_to_mhc_fwd(x, o)
    equal(o, tk.torch.mhc.expand_to_mhc_ref(x, streams))
    o, grad = torch.randn(N, streams, hidden).bfloat16().npu(), unwritten(N, hidden, dtype=torch.bfloat16)
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


def test_pre_split_mixes_for_another_number_of_streams(tk):
    """Two kernels of the wheel that none of its functions launches. For four streams tilelang 0.1.15 cannot lower the second: no layout."""
    from tile_kernels.mhc import pre_split_mixes_asc

    m, cores = 2, tk.config.get_num_vec_cores()
    width = 2 * m + m * m
    x, scale, base = torch.randn(N, width).npu(), torch.randn(3).npu(), torch.randn(width).npu()
    outs = unwritten(N, m), unwritten(N, m), unwritten(N, m * m)

    def forward():
        pre_split_mixes_asc.mhc_pre_split_mixes_fwd_asc(x, scale, base, *outs, 2.0, 1e-2, token_block_size=32, num_stages=2, dtype="float32", num_vec_cores=cores)
    if config.checks().memory:          # it writes four rows of the m x m matrix whatever m is: what lies behind is the next token's
        with pytest.raises(RuntimeError, match=r"SIMT store: thread \(32, 0, 0\): a race on UB0 address 0x900, 4 bytes: warp 0 \(threads 0 to 31\) has written there"):
            forward()
        return
    forward()

    def reference(x, scale, base):
        return tk.torch.mhc.mhc_pre_split_mixes_ref(x.view(1, N, width), scale, base, m, 2.0, 1e-2)
    for got, want in zip(outs, reference(x.cpu(), scale.cpu(), base.cpu())):
        close(got, want, rtol=1e-5, atol=2e-5)
    grads = [torch.randn(*out.shape).npu() for out in outs]
    x_grad, scale_partial, base_partial = unwritten(N, width), unwritten(cores, 3), unwritten(cores, width)
    pre_split_mixes_asc.mhc_pre_split_mixes_bwd_asc(*grads, x, outs[1], scale, base, x_grad, scale_partial, base_partial, 2.0,
                                                    token_block_size=32, dtype="float32", num_vec_cores=cores)
    for got, want in zip((x_grad, scale_partial.sum(0), base_partial.sum(0)), gradients(reference, [x, scale, base], *grads)):
        close(got, want, rtol=1e-4, atol=1e-4)
    tensors = [unwritten(N, width) for width in (M, M, M * M, 24, M)] + [unwritten(3), unwritten(24), unwritten(N, 24), unwritten(cores, 3), unwritten(cores, 24)]
    with pytest.raises(Exception, match="does not form a bijective transform"):
        pre_split_mixes_asc.mhc_pre_split_mixes_bwd_asc(*tensors, 2.0, token_block_size=32, dtype="float32", num_vec_cores=cores)


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


@pytest.mark.parametrize("hidden", [1280, slow(2560), 7680])
def test_pre_apply_mix(tk, hidden):
    """Of 7680 columns a core takes a part at a time."""
    x, mix = torch.randn(N, M, hidden).bfloat16().npu(), torch.rand(N, M).npu()
    out = unwritten(N, hidden, dtype=torch.bfloat16)
    tk.mhc.mhc_pre_apply_mix_fwd(x, mix, out)
    close(out, (x.cpu().float() * mix.cpu().unsqueeze(-1)).sum(1), atol=1e-2, rtol=1e-3)
    grad = torch.randn(N, hidden).bfloat16().npu()
    x_grad = torch.zeros(N, M, hidden, dtype=torch.bfloat16).npu()
    mix_grad = tk.mhc.mhc_pre_apply_mix_bwd(grad, x, mix, x_grad)
    want_x, want_mix = gradients(lambda x, mix: (x * mix.unsqueeze(-1)).sum(1), [x, mix], grad)
    close(x_grad, want_x, atol=1e-2, rtol=1e-2)
    close(mix_grad, want_mix, atol=1e-3 * (hidden / 512) ** 0.5, rtol=1e-4)


def post_reference(x, residual, post, comb):
    return x.unsqueeze(-2) * post + torch.einsum("abmn,abmc->abnc", comb, residual)


def post_inputs(streams, hidden):
    shapes = (hidden,), (streams, hidden), (streams, 1), (streams, streams)
    return [(torch.randn if index < 2 else torch.rand)(2, 35, *shape).to(torch.bfloat16 if index < 2 else torch.float32).npu() for index, shape in enumerate(shapes)]


@pytest.mark.parametrize("streams, hidden", [(M, 512), (2, 5120)])
def test_post(tk, streams, hidden):
    inputs = post_inputs(streams, hidden)
    out = tk.mhc.mhc_post_fwd(*inputs)
    close(out, tk.torch.mhc.mhc_post_ref(*[x.cpu() for x in inputs]))
    grad = torch.randn(2, 35, streams, hidden).bfloat16().npu()
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


@pytest.mark.parametrize("tokens, hidden", [(1021, 512), (509, 512), (21, 4160)])
def test_pre_big_fuse_is_the_composition(tk, equal, tokens, hidden):
    mul, sqrsum = torch.randn(1, tokens, 24).npu(), (torch.rand(1, tokens) * M * hidden).npu()
    scale, base, residual = torch.randn(3).npu(), torch.randn(24).npu(), torch.randn(tokens, M, hidden).bfloat16().npu()
    post, comb, layer_input = unwritten(tokens, M), unwritten(tokens, M * M), unwritten(tokens, hidden, dtype=torch.bfloat16)
    tk.mhc.mhc_pre_big_fuse_fwd(mul, sqrsum, scale, base, residual, post, comb, layer_input, 1e-6, 1e-2, 1e-6, 2.0, 10, 1)

    mixes = unwritten(tokens, 24)
    tk.mhc.mhc_reduce_partials_and_rmsnorm_fwd(mul.view(1, tokens, 1, 24), sqrsum.view(1, tokens, 1), unwritten(tokens, 1, 24), unwritten(tokens, 1), mixes,
                                               M * hidden, 1e-6, 1)
    pre, want_post, raw, want_comb = unwritten(tokens, M), unwritten(tokens, M), unwritten(tokens, M * M), unwritten(tokens, M, M)
    tk.mhc.mhc_pre_split_mixes_fwd(mixes, scale, base, pre, want_post, raw, 2.0, 1e-2)
    tk.mhc.mhc_sinkhorn_fwd(raw.view(tokens, M, M), want_comb, 10, 1e-6)
    want_input = unwritten(tokens, hidden, dtype=torch.bfloat16)
    tk.mhc.mhc_pre_apply_mix_fwd(residual, pre, want_input)
    equal(post, want_post)
    equal(comb, want_comb.view(tokens, M * M))
    equal(layer_input, want_input)


@pytest.mark.parametrize("layers, posts, hidden", [(1, 1, 2560), (3, 2, 4096), slow(3, 3, 7168), slow(10, 9, 8192), (10, 10, 2560)])
def test_multilayer_recompute_is_the_composition(tk, equal, layers, posts, hidden):
    residual = torch.randn(1, N, M, hidden).bfloat16().npu()
    pre = [torch.rand(1, N, M, 1).npu() for _ in range(layers)]
    outputs = [torch.randn(1, N, hidden).bfloat16().npu() for _ in range(posts)]
    post, comb = ([torch.rand(1, N, M, last).npu() for _ in range(posts)] for last in (1, M))
    inputs = [unwritten(1, N, hidden, dtype=torch.bfloat16) for _ in range(layers)]
    residuals = [unwritten(1, N, M, hidden, dtype=torch.bfloat16) for _ in range(posts)]
    tk.mhc.mhc_multilayer_recompute(residual, pre, outputs, post, comb, inputs, residuals)
    current = residual
    for layer in range(layers):
        want = unwritten(N, hidden, dtype=torch.bfloat16)
        tk.mhc.mhc_pre_apply_mix_fwd(current.view(N, M, hidden), pre[layer].view(N, M), want)
        equal(inputs[layer].view(N, hidden), want)
        if layer < posts:
            current = tk.mhc.mhc_post_fwd(outputs[layer], current, post[layer], comb[layer])
            equal(residuals[layer], current)
