# SPDX-License-Identifier: MIT
"""tile_kernels.quant: casts to FP8 and FP4 with their scale factors, SwiGLU, RMS norm, transposed scales. Quantised bytes equal."""

import numpy as np
import pytest
import torch
from support.grid import slow

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


# Branches of the kernels: 8 or 4 bits; scales as they come, rounded, packed; values kept in bf16 (packed, hidden % 256 == 0) or fp32.
# Here and below the sizes of rows are those that the wheel is tested with: 128 to 7168 between the cases of a function, for casts 16384 and 65536 too.
@pytest.mark.parametrize("fmt, dtype, config, hidden", [
    ("e4m3", torch.bfloat16, PLAIN, 384), ("e4m3", torch.float32, PACKED, 3072), ("e2m1", torch.bfloat16, ROUNDED, 768),
    ("e4m3", torch.bfloat16, PACKED, 7168), slow("e2m1", torch.float32, PLAIN, 128), ("e2m1", torch.bfloat16, PACKED, 65536),
    slow("e4m3", torch.float32, ROUNDED, 16384),
])
def test_per_token_cast(tk, equal, fmt, dtype, config, hidden):
    for rows in (129 if hidden < 8192 else 34, 1, 0):
        x = values(rows, hidden, dtype)
        got = tk.quant.per_token_cast(x, fmt, 32, **options(config))
        want = tk.torch.cast(x, fmt, (1, 32), **options(config))
        same_quantised(tk, equal, got, want, hidden, packed=config[2])
        if rows > 1:
            tk.testing.numeric.check_bias(tk.torch.cast_back(want, "fp32", (1, 32)).cpu(), x.float().cpu())


def test_per_token_cast_of_rows_apart_and_any_magnitude(tk, equal):
    x = tk.testing.generator.generate_rand_float((129, 512)).npu()[:, :256]
    for bits in (0x00000001, 0x80000000, 0x7F7FFFFF, 0x00800000):       # the least number, a zero, the greatest number, the least normal one
        x.view(torch.int32)[bits % 97, bits % 31] = bits - (bits >> 31 << 32)
    out = tk.quant.per_token_cast(torch.zeros_like(x), "e4m3", 32, round_sf=True)
    got = tk.quant.per_token_cast(x, "e4m3", 32, round_sf=True, out=out)
    same_quantised(tk, equal, got, tk.torch.cast(x, "e4m3", (1, 32), round_sf=True), 256)
    assert got[0].data_ptr() == out[0].data_ptr() and got[1].data_ptr() == out[1].data_ptr()


@pytest.mark.parametrize("in_fmt, in_config, fmt, config, hidden", [
    ("e4m3", ROUNDED, "e2m1", ROUNDED, 768), ("e2m1", PACKED, "e4m3", PACKED, 2560), ("e4m3", (False, True, True), "e4m3", (False, True, True), 6144),
    slow("e2m1", PLAIN, "e4m3", PLAIN, 256),
])
def test_per_token_cast_of_quantised_input(tk, equal, in_fmt, in_config, fmt, config, hidden):
    x = tk.torch.cast(values(128, hidden), in_fmt, (32, 32), **options(in_config))
    got = tk.quant.per_token_cast(x, fmt, 32, x_block_size=(32, 32), **options(config))
    want = tk.torch.cast(x, fmt, (1, 32), x_block_size=(32, 32), **options(config))
    same_quantised(tk, equal, got, want, hidden, packed=config[2])


@pytest.mark.parametrize("fmt, dtype, sf_config, cast_config", [("e4m3", torch.bfloat16, ROUNDED, ROUNDED), ("e2m1", torch.float32, PACKED, PLAIN)])
def test_scales_alone_and_given_scales(tk, equal, fmt, dtype, sf_config, cast_config):
    x = values(70, 256, dtype)
    scales = tk.quant.per_token_cast_with_sf_only(x, fmt, 32, **options(sf_config))
    same_quantised(tk, equal, (x, scales), (x, tk.torch.cast(x, fmt, (1, 32), **options(sf_config))[1]), 256, packed=sf_config[2])
    data, scales = tk.torch.cast(x, fmt, (1, 32), **options(cast_config))
    equal(tk.quant.per_token_cast_with_precomputed_sf(x, fmt, 32, scales, **options(cast_config)), data)


def test_the_least_amax_is_a_setting(tk, equal):
    x = values(70, 128)
    before = tk.config.get_amax_clamp_for_quant("e4m3", False)
    try:
        tk.config.set_amax_clamp_for_quant("e4m3", False, 1e6)
        got, want = tk.quant.per_token_cast(x, "e4m3", 32), tk.torch.cast(x, "e4m3", (1, 32))
        assert want[1].min() == want[1].max()
        same_quantised(tk, equal, got, want, 128)
    finally:
        tk.config.set_amax_clamp_for_quant("e4m3", False, before)


def test_what_the_wheel_has_for_cuda_alone_is_refused_by_it(tk):
    x = values(64, 128, torch.float32)
    for refused in (lambda: tk.quant.per_token_cast(x, "e4m3", 32, stochastic_cast=True), lambda: tk.quant.per_token_cast(x, "e4m3", 64),
                    lambda: tk.quant.per_block_cast(values(128, 128), "e4m3", (128, 128)), lambda: tk.quant.cast(x, torch.float8_e4m3fn, stochastic_rounding=True)):
        with pytest.raises(AssertionError):
            refused()


@pytest.mark.parametrize("fmt, dtype, config, hidden", [
    ("e4m3", torch.bfloat16, ROUNDED, 384), ("e2m1", torch.float32, PACKED, 2048), slow("e4m3", torch.float32, PLAIN, 128), ("e2m1", torch.bfloat16, ROUNDED, 7168),
    ("e4m3", torch.bfloat16, PACKED, 768),
])
def test_per_block_cast(tk, equal, fmt, dtype, config, hidden):
    for rows in (256, 0):
        x = values(rows, hidden, dtype)
        got = tk.quant.per_block_cast(x, fmt, (32, 32), **options(config))
        want = tk.torch.cast(x, fmt, (32, 32), **options(config))
        same_quantised(tk, equal, got, want, hidden, packed=config[2])
    tk.testing.numeric.check_bias(tk.torch.cast_back(tk.torch.cast(values(256, 256, dtype), fmt, (32, 32), round_sf=True), "fp32", (32, 32)).cpu(),
                                  torch.zeros(256, 256))


def test_per_block_scales_alone_and_given_scales(tk, equal):
    x = values(128, 256)
    data, scales = tk.torch.cast(x, "e4m3", (32, 32), round_sf=True)
    equal(tk.quant.per_block_cast_with_sf_only(x, "e4m3", (32, 32), round_sf=True), scales)
    equal(tk.quant.per_block_cast_with_precomputed_sf(x, "e4m3", (32, 32), scales, round_sf=True), data)


@pytest.mark.parametrize("rounded, packed, hidden", [slow(True, False, 384), (True, True, 4096), (False, False, 128)])
def test_per_channel_cast(tk, equal, rounded, packed, hidden):
    x = values(256, hidden)
    got = tk.quant.per_channel_cast(x, "e4m3", 32, round_sf=rounded, use_packed_ue8m0=packed)
    want = tk.torch.cast(x, "e4m3", (32, 1), round_sf=rounded, use_packed_ue8m0=packed)
    equal(got[0], want[0])
    equal(got[1], want[1])


@pytest.mark.parametrize("in_config, rounded, packed, hidden", [(ROUNDED, True, False, 768), (PACKED, True, True, 2560), (PACKED, False, False, 256)])
def test_per_channel_cast_of_quantised_input(tk, equal, in_config, rounded, packed, hidden):
    """Where the scales of the input are column-major they are those of the first half of more rows."""
    x = tk.torch.cast(values(256, hidden), "e4m3", (1, 32), **options(in_config))
    x = x[0][:128], x[1][:128]
    got = tk.quant.per_channel_cast(x, "e4m3", 32, round_sf=rounded, num_per_channels=32, use_packed_ue8m0=packed)
    want = tk.torch.cast(x, "e4m3", (32, 1), x_block_size=(1, 32), round_sf=rounded, use_packed_ue8m0=packed)
    equal(got[0], want[0])
    equal(got[1], want[1])


@pytest.mark.parametrize("fmt, block, config, out, hidden", [
    ("e4m3", (1, 32), ROUNDED, "bf16", 192), slow("e2m1", (1, 32), PLAIN, "fp32", 384), ("e4m3", (32, 32), ROUNDED, "fp32", 2048), slow("e2m1", (1, 32), (False, True, True), "bf16", 7168),
    slow("e4m3", (1, 32), PACKED, "bf16", 3072), ("e2m1", (32, 32), PACKED, "bf16", 768), ("e4m3", (32, 1), (False, True, True), "fp32", 128), ("e2m1", (32, 1), PLAIN, "bf16", 4096),
])
def test_cast_back(tk, equal, fmt, block, config, out, hidden):
    x = values(160, hidden)
    quantised = tk.torch.cast(x, fmt, block, **options(config))
    got = tk.quant.cast_back(quantised, out, block) if block[0] > 1 else tk.quant.per_token_cast_back(quantised, out, 32)
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


@pytest.mark.parametrize("fmt, dtype, rounded", [("e4m3", torch.bfloat16, True), ("e2m1", torch.float32, False)])
def test_per_token_cast_and_cast_back(tk, equal, fmt, dtype, rounded):
    """Of the second, rows lie apart."""
    wide = values(70, 512, dtype)
    x = wide[:, 128:384] if dtype == torch.float32 else wide
    rest = wide[:, :128].clone()
    want = tk.torch.cast_back(tk.torch.cast(x, fmt, (1, 32), round_sf=rounded), "bf16" if dtype == torch.bfloat16 else "fp32", (1, 32))
    tk.quant.per_token_cast_and_cast_back(x, fmt, 32, round_sf=rounded)
    equal(x.contiguous(), want)
    if dtype == torch.float32:
        equal(wide[:, :128].contiguous(), rest)


@pytest.mark.parametrize("fmt, dtype", [("e4m3", torch.bfloat16), ("e2m1", torch.float32)])
def test_per_token_cast_and_cast_back_with_scales_in_e4m3(tk, equal, fmt, dtype):
    x = torch.randn(70, 256).to(dtype).npu()
    want = tk.torch.cast_back(tk.torch.cast(x, fmt, (1, 16), use_e4m3_sf=True), "bf16" if dtype == torch.bfloat16 else "fp32", (1, 16))
    tk.quant.per_token_cast_and_cast_back(x, fmt, 16, use_e4m3_sf=True)
    equal(x, want)


@pytest.mark.parametrize("in_config, config", [(ROUNDED, ROUNDED), ((False, True, True), PACKED), (PACKED, (False, True, True))])
def test_per_block_cast_lossless_changes_no_value(tk, equal, in_config, config):
    x = (torch.randn(128, 256) * 2.0 ** torch.randint(-4, 5, (128, 1))).npu()
    quantised = tk.torch.cast(x, "e2m1", (1, 32), **options(in_config))
    got = tk.quant.per_block_cast_lossless(quantised, "e4m3", (1, 32), (32, 32), **options(config))
    equal(tk.torch.cast_back(got, "fp32", (32, 32)), tk.torch.cast_back(quantised, "fp32", (1, 32)))


def test_batched_transpose_weight_sf(tk, equal):
    def scales():
        return [(2.0 ** torch.randint(-20, 20, shape)).float().npu() for shape in ((4, 12), (3, 8, 16))]
    first, second = scales(), scales()
    transposed = [False, True]
    got = tk.quant.batched_transpose_weight_sf(first, 32, transposed, [None, None])
    reused = [got[0], None]
    again = tk.quant.batched_transpose_weight_sf(second, 32, transposed, reused)
    assert [again[0][i] is got[0][i] for i in (0, 1)] == [True, True] and again[1][0].data_ptr() != got[1][0].data_ptr()
    for pairs, source, which in ((again, second, (0, 1)), (got, first, (1,))):
        wants = tk.torch.batched_transpose_weight_sf(source, 32, transposed)
        for index in which:
            equal(pairs[index][0], wants[index][0])
            equal(pairs[index][1], wants[index][1])
    assert tk.quant.batched_transpose_weight_sf([], 32, [], []) == []


def test_unpack_from_e2m1fn_x2(tk):
    codes = torch.arange(256, dtype=torch.int64).to(torch.uint8).view(torch.int8)
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    got = tk.quant.unpack_from_e2m1fn_x2(codes.npu()).cpu()
    want = torch.stack([levels[torch.arange(256) % 16], levels[torch.arange(256) // 16]], dim=1).flatten()
    assert torch.equal(got.view(torch.int32), want.view(torch.int32))


def psum_layout(alignment=128):
    """Three experts with 100, 0 and 130 rows, each beginning at a multiple of the alignment."""
    begin = alignment
    psum = torch.tensor([100, begin, begin + 130], dtype=torch.int32)
    valid = torch.zeros(begin + 2 * alignment, dtype=torch.bool)
    valid[:100] = valid[begin:begin + 130] = True
    return psum.npu(), valid


def test_swiglu_forward(tk, equal):
    for rows in (130, 0):
        x = torch.randn(rows, 2 * 2560).bfloat16().npu()
        equal(tk.quant.swiglu_forward(x, "bf16"), tk.torch.swiglu_forward(x).bfloat16())


def test_swiglu_forward_in_fp32_with_weights(tk, equal):
    """Every bit, in the kernel's order of operations, with the exponential rounded from float64: PyTorch's own is off by a bit now and then."""
    x, weights = torch.randn(130, 512), torch.rand(130)
    gate, value = x.chunk(2, dim=1)
    want = gate / (1 + torch.exp(-gate.double()).float()) * value * weights.unsqueeze(1)
    equal(tk.quant.swiglu_forward(x.npu(), "fp32", topk_weights=weights.npu()), want)
    torch.testing.assert_close(want, tk.torch.swiglu_forward(x, topk_weights=weights))


@pytest.mark.parametrize("dtype, config", [(torch.float32, ROUNDED), slow(torch.bfloat16, PACKED)])
def test_swiglu_forward_with_experts_weights_and_clamp(tk, equal, dtype, config):
    psum, valid = psum_layout()
    x = (torch.randn(len(valid), 512) * 4).to(dtype).npu()
    weights = torch.rand(len(valid)).npu()
    more = dict(psum_num_tokens_per_expert=psum, topk_weights=weights, routed_scaling_factor=1.5, clamp_value=5.0)
    counts = [torch.zeros(4, dtype=torch.int64).npu() for _ in range(2)]
    got = tk.quant.swiglu_forward_and_per_token_cast(x, "e4m3", 32, clamped_count=counts[0], **options(config), **more)
    want = tk.torch.cast(tk.torch.swiglu_forward(x, clamped_count=counts[1], **more), "e4m3", (1, 32), **options(config))
    for one, other in zip(got, want):
        equal(one.cpu()[valid], other.cpu()[valid])
    equal(*counts)


@pytest.mark.parametrize("config", [PACKED, slow((False, True, True))])
def test_swiglu_forward_and_cast_with_packed_scales(tk, equal, config):
    """bf16 with column-major scales takes the kernel's short cut where it is proven to give the same bytes."""
    x, weights = (torch.randn(130, 512) * 4).bfloat16().npu(), torch.rand(130).npu()
    more = dict(topk_weights=weights, routed_scaling_factor=1.5, clamp_value=5.0) if config == PACKED else {}
    got = tk.quant.swiglu_forward_and_per_token_cast(x, "e4m3", 32, **options(config), **more)
    want = tk.torch.cast(tk.torch.swiglu_forward(x, **more), "e4m3", (1, 32), **options(config))
    same_quantised(tk, equal, got, want, 256, packed=True)


def test_swiglu_backward(tk, equal):
    x, grad = torch.randn(128, 512).bfloat16().npu(), torch.randn(128, 256).bfloat16().npu()
    weights = torch.rand(128).npu()
    got = tk.quant.swiglu_backward(x, grad, "bf16", topk_weights=weights, routed_scaling_factor=1.5, clamp_value=2.0, do_recompute=True)
    want = tk.torch.swiglu_backward(x, grad, topk_weights=weights, routed_scaling_factor=1.5, clamp_value=2.0)
    equal(got[0], want[0].bfloat16())
    torch.testing.assert_close(got[1].cpu(), want[1].cpu(), rtol=1e-4, atol=1e-4)
    equal(got[2], want[2].bfloat16())


def test_swiglu_backward_in_fp32(tk, equal):
    x, grad = torch.randn(70, 256), torch.randn(70, 128)
    got = tk.quant.swiglu_backward(x.npu(), grad.npu(), "fp32")
    gate, value = x.chunk(2, dim=1)
    sigmoid = 1 / (1 + torch.exp(-gate.double()).float())
    scaled = grad * sigmoid
    want = torch.cat([scaled * value * (1 + gate * (1 - sigmoid)), scaled * gate], dim=1)
    assert len(got) == 1
    equal(got[0], want)
    torch.testing.assert_close(want, tk.torch.swiglu_backward(x, grad)[0])


def test_swiglu_backward_in_fp8(tk, equal):
    x = tk.torch.cast(torch.randn(128, 512).npu(), "e4m3", (1, 32), round_sf=True)
    grad = torch.randn(128, 256).bfloat16().npu()
    got = tk.quant.swiglu_backward_and_per_token_cast(x, grad, "e4m3", 32, round_sf=True)
    want = tk.torch.swiglu_backward(tk.torch.cast_back(x, "fp32", (1, 32)), grad)[0]
    equal(got[0], want.bfloat16())
    for one, other in zip(got[1], tk.torch.cast(want, "e4m3", (1, 32), round_sf=True)):
        equal(one, other)


def test_swiglu_backward_in_fp8_with_experts_weights_and_clamp(tk, equal, monkeypatch):
    monkeypatch.setattr(tk.config, "_token_alignment", 256)
    psum, valid = psum_layout(256)
    on_npu = valid.npu()
    x, grad, weights = torch.randn(len(valid), 512) * 2, torch.randn(len(valid), 256).bfloat16(), torch.rand(len(valid))
    x, grad, weights = (torch.where(valid.view(-1, *[1] * (t.dim() - 1)), t, 0).npu() for t in (x, grad, weights))     # as the wheel demands of padding
    x = tk.torch.cast(x, "e4m3", (1, 32), round_sf=True)
    more = dict(psum_num_tokens_per_expert=psum, topk_weights=weights, routed_scaling_factor=1.5, clamp_value=2.0)
    got = tk.quant.swiglu_backward_and_per_token_cast(x, grad, "e4m3", 32, do_recompute=True, **options(PACKED), **more)
    want = tk.torch.swiglu_backward(tk.torch.cast_back(x, "fp32", (1, 32)), grad, alignment=tk.config.get_token_alignment(), **more)
    equal(got[0], want[0].bfloat16())
    quantised = tk.torch.cast(want[0], "e4m3", (1, 32), **options(PACKED))
    equal(got[1][0], quantised[0])
    for one, other in zip(got[1][1:], quantised[1:]):
        equal(one[on_npu], other[on_npu])
        assert not one[~on_npu].any()
    torch.testing.assert_close(got[2].cpu(), want[1].cpu(), rtol=1e-4, atol=1e-4)
    equal(got[3], want[2].bfloat16())


@pytest.mark.parametrize("dtype, with_residual, hidden", [(torch.bfloat16, True, 7168), (torch.float32, False, 384)])
def test_norm_forward(tk, equal, dtype, with_residual, hidden):
    x, weight = torch.randn(70, hidden).to(dtype).npu(), torch.randn(hidden).to(dtype).npu()
    residual = torch.randn(70, hidden).to(dtype).npu() if with_residual else None
    out, rstd, norm_input = tk.quant.norm_forward(x, weight, 1e-6, residual=residual, with_rstd=True)
    want = tk.torch.norm_forward_ref(x, weight, 1e-6, residual=residual)
    torch.testing.assert_close(out.cpu(), want[0].cpu())
    torch.testing.assert_close(rstd.cpu(), want[1].cpu(), rtol=2e-6, atol=1e-7)
    equal(norm_input, want[2])


def test_norm_forward_of_rows_apart_without_weight(tk, equal):
    x = torch.randn(3, 40, 300).npu()[:, 2:37, :200]
    out, _, norm_input = tk.quant.norm_forward(x, None, 1e-6, out_scale=0.5)
    want = tk.torch.norm_forward_ref(x, None, 1e-6, out_scale=0.5)[0]
    torch.testing.assert_close(out.cpu(), want.cpu())
    assert norm_input is x


@pytest.mark.parametrize("shape, dtype, config", [slow((70, 2560), torch.bfloat16, ROUNDED), ((2, 35, 384), torch.bfloat16, PACKED), ((70, 4096), torch.float32, PLAIN)])
def test_norm_forward_and_per_token_cast_is_the_composition(tk, equal, shape, dtype, config):
    """Of norm_forward and per_token_cast; of a batch, each matrix has scales of its own."""
    x, weight = torch.randn(*shape).to(dtype).npu(), torch.randn(shape[-1]).to(dtype).npu()
    more = dict(with_out_bf16=True, with_rstd=True) if dtype == torch.float32 else {}
    got, out_bf16, rstd, norm_input = tk.quant.norm_forward_and_per_token_cast(x, weight, 1e-6, "e4m3", 32, **options(config), **more)
    normed = tk.torch.norm_forward_ref(x, weight, 1e-6)
    plain, plain_rstd, _ = tk.quant.norm_forward(x.view(-1, shape[-1]), weight, 1e-6, with_rstd=True)
    torch.testing.assert_close(plain.view(shape).cpu(), normed[0].cpu())
    parts = got if len(shape) == 3 else [part.unsqueeze(0) for part in got]
    for index, one in enumerate(plain.view(-1, *shape[-2:])):
        want = tk.torch.cast(one, "e4m3", (1, 32), **options(config))
        same_quantised(tk, equal, [part[index] for part in parts], want, shape[-1], packed=config[2])
    if more:
        equal(out_bf16, plain.bfloat16())
        equal(rstd, plain_rstd)


@pytest.mark.parametrize("dtype, with_weight, with_residual, accumulates, hidden", [
    (torch.bfloat16, True, False, False, 7168), (torch.float32, False, True, False, 2048), (torch.bfloat16, True, True, True, 384),
])
def test_norm_backward(tk, dtype, with_weight, with_residual, accumulates, hidden):
    x, grad, residual = (torch.randn(70, hidden).to(dtype).npu() for _ in range(3))
    weight = torch.randn(hidden).to(dtype).npu() if with_weight else None
    residual = residual if with_residual else None
    scale = 0.5 if with_residual else 1.0
    buffer = torch.randn(hidden).npu() if accumulates else None
    before = buffer.clone() if accumulates else 0
    rstd = tk.torch.norm_forward_ref(x, weight, 1e-6)[1]
    x_grad, weight_grad = tk.quant.norm_backward(grad, x, weight, rstd, residual_out_grad=residual, out_scale=scale, weight_grad=buffer)
    want_x, want_weight = tk.torch.norm_backward_ref(grad, x, weight, rstd, residual_out_grad=residual, out_scale=scale)
    torch.testing.assert_close(x_grad.cpu(), want_x.cpu())
    if not with_weight:
        assert weight_grad is None
        return
    tolerance = 1e-4 if accumulates else 8e-3
    torch.testing.assert_close(weight_grad.cpu().float(), (want_weight + before).cpu().float(), rtol=tolerance, atol=2e-3 / 32**0.5)
    assert not accumulates or weight_grad.data_ptr() == buffer.data_ptr()
