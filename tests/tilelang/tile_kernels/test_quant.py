# SPDX-License-Identifier: MIT
"""tile_kernels.quant: casts to FP8 and FP4 with their scale factors, SwiGLU, RMS norm, transposed scales. Quantised bytes equal."""

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.tilelang

PLAIN, ROUNDED, PACKED = (False, False, False), (False, True, False), (True, True, True)    # (col-major, power of two, packed)


def options(config):
    return dict(zip(("use_tma_aligned_col_major_sf", "round_sf", "use_packed_ue8m0"), config))


def values(rows, cols, dtype=torch.bfloat16):
    return (torch.randn(rows, cols) * torch.logspace(-5, 3, rows).unsqueeze(1)).to(dtype).npu()


def same_quantised(tk, equal, got, want, hidden, per=32, packed=False):
    equal(got[0], want[0])
    if packed:      # pad bytes of the last word hold anything
        equal(tk.testing.quant.clear_unused_sf(got[1].cpu(), hidden, per), tk.testing.quant.clear_unused_sf(want[1].cpu(), hidden, per))
    else:
        equal(got[1], want[1])


@pytest.mark.parametrize("fmt, dtype, config", [("e4m3", torch.bfloat16, PLAIN), ("e4m3", torch.float32, PACKED), ("e2m1", torch.bfloat16, ROUNDED)])
def test_per_token_cast(tk, equal, fmt, dtype, config):
    x = values(70, 384, dtype)
    got = tk.quant.per_token_cast(x, fmt, 32, **options(config))
    want = tk.torch.cast(x, fmt, (1, 32), **options(config))
    same_quantised(tk, equal, got, want, 384, packed=config[2])


def test_per_token_cast_of_quantised_input(tk, equal):
    x = tk.quant.per_block_cast(values(128, 256), "e4m3", (32, 32), round_sf=True)
    got = tk.quant.per_token_cast(x, "e2m1", 32, x_block_size=(32, 32), round_sf=True)
    want = tk.torch.cast(x, "e2m1", (1, 32), x_block_size=(32, 32), round_sf=True)
    same_quantised(tk, equal, got, want, 256)


def test_scales_alone_and_given_scales(tk, equal):
    x = values(70, 256)
    want = tk.torch.cast(x, "e4m3", (1, 32), round_sf=True)
    scales = tk.quant.per_token_cast_with_sf_only(x, "e4m3", 32, round_sf=True)
    equal(scales, want[1])
    equal(tk.quant.per_token_cast_with_precomputed_sf(x, "e4m3", 32, scales, round_sf=True), want[0])


@pytest.mark.parametrize("fmt, dtype, config", [("e4m3", torch.bfloat16, ROUNDED), ("e2m1", torch.float32, PACKED)])
def test_per_block_cast(tk, equal, fmt, dtype, config):
    x = values(128, 256, dtype)
    got = tk.quant.per_block_cast(x, fmt, (32, 32), **options(config))
    same_quantised(tk, equal, got, tk.torch.cast(x, fmt, (32, 32), **options(config)), 256, packed=config[2])


@pytest.mark.parametrize("packed", [False, True])
def test_per_channel_cast(tk, equal, packed):
    x = values(128, 256)
    got = tk.quant.per_channel_cast(x, "e4m3", 32, round_sf=True, use_packed_ue8m0=packed)
    want = tk.torch.cast(x, "e4m3", (32, 1), round_sf=True, use_packed_ue8m0=packed)
    equal(got[0], want[0])
    equal(got[1], want[1])


def test_per_channel_cast_of_quantised_input(tk, equal):
    x = tk.quant.per_token_cast(values(128, 256), "e4m3", 32, round_sf=True)
    got = tk.quant.per_channel_cast(x, "e4m3", 32, round_sf=True, num_per_channels=32)
    want = tk.torch.cast(x, "e4m3", (32, 1), x_block_size=(1, 32), round_sf=True)
    equal(got[0], want[0])
    equal(got[1], want[1])


@pytest.mark.parametrize("fmt, block, out", [("e4m3", (1, 32), "bf16"), ("e2m1", (1, 32), "fp32"), ("e4m3", (32, 32), "fp32")])
def test_cast_back(tk, equal, fmt, block, out):
    x = values(128, 256)
    quantised = tk.torch.cast(x, fmt, block, round_sf=True)
    got = tk.quant.cast_back(quantised, out, block)
    equal(got, tk.torch.cast_back(quantised, out, block))
    assert tk.testing.numeric.calc_diff(got.float(), x.float()) < (2e-2 if fmt == "e2m1" else 1e-3)


def test_stochastic_cast_follows_its_hash(tk):
    x = torch.randn(64, 512) * 100
    got = tk.quant.cast(x.npu(), torch.bfloat16, stochastic_rounding=True).cpu().view(torch.int16).numpy().view(np.uint16)
    bits = x.numpy().view(np.uint32).reshape(-1, 4)

    def mixed(h, multiplier, shift):
        h = h * np.uint32(multiplier)
        return h ^ (h >> np.uint32(shift))
    with np.errstate(over="ignore"):
        h = sum((bits[:, i] * np.uint32(c) for i, c in enumerate((0x5671D42B, 0x9995E499, 0xACE1B8A5, 0xE153538D))),
                np.arange(len(bits), dtype=np.uint32))
        h ^= h >> np.uint32(23)
        h *= np.uint32(0x7FEB352D)
        h ^= h >> np.uint32(16)
        h1, h2 = mixed(h, 0x846CA68B, 11), mixed(h, 0xD35A2D97, 11)
    random = np.stack([h1 & 0xFFFF, h1 >> 16, h2 & 0xFFFF, h2 >> 16], axis=1)
    want = (bits >> 16) + (random < (bits & 0xFFFF))
    assert (got.reshape(-1, 4) == want).all()


def test_per_token_cast_and_cast_back(tk, equal):
    x = values(70, 256)
    want = tk.torch.cast_back(tk.torch.cast(x, "e4m3", (1, 32), round_sf=True), "bf16", (1, 32))
    tk.quant.per_token_cast_and_cast_back(x, "e4m3", 32, round_sf=True)
    equal(x, want)


def test_per_block_cast_lossless_changes_no_value(tk, equal):
    x = (torch.randn(128, 256) * 2.0 ** torch.randint(-4, 5, (128, 1))).npu()
    quantised = tk.torch.cast(x, "e2m1", (1, 32), round_sf=True)
    got = tk.quant.per_block_cast_lossless(quantised, "e4m3", (1, 32), (32, 32), round_sf=True)
    equal(tk.torch.cast_back(got, "fp32", (32, 32)), tk.torch.cast_back(quantised, "fp32", (1, 32)))


def test_batched_transpose_weight_sf(tk, equal):
    scales = [2.0 ** torch.randint(-20, 20, shape) for shape in ((4, 12), (3, 8, 16))]
    scales = [scale.float().npu() for scale in scales]
    got = tk.quant.batched_transpose_weight_sf(scales, 32, [False, True], [None, None])
    for pair, want in zip(got, tk.torch.batched_transpose_weight_sf(scales, 32, [False, True])):
        equal(pair[0], want[0])
        equal(pair[1], want[1])


def psum_layout(alignment=128):
    """Three experts with 100, 0 and 130 rows, each beginning at a multiple of the alignment."""
    begin = alignment
    psum = torch.tensor([100, begin, begin + 130], dtype=torch.int32)
    valid = torch.zeros(begin + 2 * alignment, dtype=torch.bool)
    valid[:100] = valid[begin:begin + 130] = True
    return psum.npu(), valid


def test_swiglu_forward(tk, equal):
    x = torch.randn(130, 512).bfloat16().npu()
    equal(tk.quant.swiglu_forward(x, "bf16"), tk.torch.swiglu_forward(x).bfloat16())


def test_swiglu_forward_with_experts_weights_and_clamp(tk, equal):
    psum, valid = psum_layout()
    x = (torch.randn(len(valid), 512) * 4).npu()
    weights = torch.rand(len(valid)).npu()
    more = dict(psum_num_tokens_per_expert=psum, topk_weights=weights, routed_scaling_factor=1.5, clamp_value=5.0)
    counts = [torch.zeros(4, dtype=torch.int64).npu() for _ in range(2)]
    got = tk.quant.swiglu_forward_and_per_token_cast(x, "e4m3", 32, round_sf=True, clamped_count=counts[0], **more)
    want = tk.torch.cast(tk.torch.swiglu_forward(x, clamped_count=counts[1], **more), "e4m3", (1, 32), round_sf=True)
    for one, other in zip(got, want):
        equal(one.cpu()[valid], other.cpu()[valid])
    equal(*counts)


def test_swiglu_backward(tk, equal):
    x, grad = torch.randn(128, 512).bfloat16().npu(), torch.randn(128, 256).bfloat16().npu()
    weights = torch.rand(128).npu()
    got = tk.quant.swiglu_backward(x, grad, "bf16", topk_weights=weights, routed_scaling_factor=1.5, clamp_value=2.0, do_recompute=True)
    want = tk.torch.swiglu_backward(x, grad, topk_weights=weights, routed_scaling_factor=1.5, clamp_value=2.0)
    equal(got[0], want[0].bfloat16())
    torch.testing.assert_close(got[1].cpu(), want[1].cpu(), rtol=1e-4, atol=1e-4)
    equal(got[2], want[2].bfloat16())


def test_swiglu_backward_in_fp8(tk, equal):
    x = tk.torch.cast(torch.randn(128, 512).npu(), "e4m3", (1, 32), round_sf=True)
    grad = torch.randn(128, 256).bfloat16().npu()
    got = tk.quant.swiglu_backward_and_per_token_cast(x, grad, "e4m3", 32, round_sf=True)
    want = tk.torch.swiglu_backward(tk.torch.cast_back(x, "fp32", (1, 32)), grad)[0]
    equal(got[0], want.bfloat16())
    for one, other in zip(got[1], tk.torch.cast(want, "e4m3", (1, 32), round_sf=True)):
        equal(one, other)


@pytest.mark.parametrize("dtype, with_residual", [(torch.bfloat16, True), (torch.float32, False)])
def test_norm_forward(tk, equal, dtype, with_residual):
    x, weight = torch.randn(70, 384).to(dtype).npu(), torch.randn(384).to(dtype).npu()
    residual = torch.randn(70, 384).to(dtype).npu() if with_residual else None
    out, rstd, norm_input = tk.quant.norm_forward(x, weight, 1e-6, residual=residual, with_rstd=True)
    want = tk.torch.norm_forward_ref(x, weight, 1e-6, residual=residual)
    torch.testing.assert_close(out.cpu(), want[0].cpu())
    torch.testing.assert_close(rstd.cpu(), want[1].cpu(), rtol=2e-6, atol=1e-7)
    equal(norm_input, want[2])


def test_norm_forward_and_per_token_cast_is_the_composition(tk, equal):
    x, weight = torch.randn(70, 384).bfloat16().npu(), torch.randn(384).bfloat16().npu()
    got, *_ = tk.quant.norm_forward_and_per_token_cast(x, weight, 1e-6, "e4m3", 32, round_sf=True)
    normed = tk.torch.cast_back(got, "fp32", (1, 32))
    want = tk.torch.norm_forward_ref(x.float(), weight.float(), 1e-6)[0]
    torch.testing.assert_close(normed.cpu(), want.cpu(), rtol=0.08, atol=0.02)


def test_norm_backward(tk):
    x, grad = torch.randn(70, 384).bfloat16().npu(), torch.randn(70, 384).bfloat16().npu()
    weight = torch.randn(384).bfloat16().npu()
    rstd = tk.torch.norm_forward_ref(x, weight, 1e-6)[1]
    x_grad, weight_grad = tk.quant.norm_backward(grad, x, weight, rstd)
    want_x, want_weight = tk.torch.norm_backward_ref(grad, x, weight, rstd)
    torch.testing.assert_close(x_grad.cpu(), want_x.cpu())
    torch.testing.assert_close(weight_grad.cpu().float(), want_weight.cpu().float(), rtol=8e-3, atol=2e-3 / 32**0.5)
