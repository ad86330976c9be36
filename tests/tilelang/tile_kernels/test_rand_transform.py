# SPDX-License-Identifier: MIT
"""tile_kernels.rand and tile_kernels.transform: normal random numbers and rotary embedding."""

import pytest
import torch

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_randn_is_normal_and_follows_its_seed(tk, dtype):
    tk.rand.set_seed(5)
    first = tk.rand.randn(300, 1001, dtype=dtype, device="npu")
    second = tk.rand.randn_like(first)
    tk.rand.set_seed(5)
    assert torch.equal(tk.rand.randn(300, 1001, dtype=dtype, device="npu"), first) and not torch.equal(first, second)
    x = first.cpu().double()
    assert x.isfinite().all()
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):        # spread: the variance of x**power
        assert abs(x.pow(power).mean().item() - moment) < 5 * (spread / x.numel()) ** 0.5 + (0.02 if dtype == torch.bfloat16 else 0)


@pytest.mark.parametrize("interleaved, conjugate, dtype", [(False, False, torch.bfloat16), (True, True, torch.float32)])
def test_apply_rotary(tk, interleaved, conjugate, dtype):
    heads, kv_heads, dim = 5, 1, 64
    query, key = torch.randn(70, heads, dim).to(dtype), torch.randn(70, kv_heads, dim).to(dtype)
    angle = torch.rand(200, dim // 2) * 6
    cache, positions = torch.cat([angle.cos(), angle.sin()], dim=1), torch.randint(0, 190, (70,))
    want = [tk.torch.rope.rotary_embedding_ref(x.float(), angle.cos(), angle.sin(), positions, 7, interleaved, conjugate) for x in (query, key)]
    on_npu = query.npu(), key.npu()
    tk.transform.apply_rotary(on_npu[0], cache.npu(), on_npu[1], positions.npu(), interleaved, conjugate, 7)
    for got, expected in zip(on_npu, want):
        assert tk.testing.numeric.calc_diff(got.cpu().float(), expected.to(dtype).float()) <= 1e-8
