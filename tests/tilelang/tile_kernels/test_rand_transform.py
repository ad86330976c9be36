# SPDX-License-Identifier: MIT
"""tile_kernels.rand and tile_kernels.transform: normal random numbers and rotary embedding."""

import numpy as np
import pytest
import torch
from support import philox
from support.grid import slow

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


@pytest.mark.parametrize("dtype, largest", [(torch.float32, 24576), (torch.bfloat16, 53248)])
def test_randn_is_the_stream_of_its_seed(tk, dtype, largest):
    """Philox words of the block and the thread by the wheel's text; sines and logarithms in float64."""
    count, cores = 300 * 1001, tk.config.get_num_vec_cores()
    tk.rand.set_seed(77)
    got = tk.rand.randn(count, dtype=dtype, device="npu").float().cpu().numpy()
    launch = 77 + 0x9E3779B9
    launch = (launch ^ launch >> 16) * 0x21F0AAAD & 0xFFFFFFFF
    launch = (launch ^ launch >> 15) * 0x735A2D97 & 0xFFFFFFFF
    launch ^= launch >> 15
    block = min(largest, 1 << (max(4096, -(-count // cores)) - 1).bit_length())
    blocks = np.arange(-(-count // block)).reshape(-1, 1, 1)
    drawn = philox.words(launch + blocks, np.arange(block // 2048), blocks % cores * 512 + np.arange(512).reshape(-1, 1))    # [block, thread, step, word]
    drawn = philox.uniform(drawn).astype(np.float64).reshape(len(blocks), 512, block // 1024, 2)
    radius, angle = np.sqrt(-2 * np.log(np.maximum(drawn[..., 0], 1e-7))), 2 * np.pi * drawn[..., 1]
    want = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=-1).transpose(0, 2, 1, 3).reshape(-1)[:count]
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == torch.float32 else 2**-8, atol=1e-5)


@pytest.mark.parametrize("heads, dim, batched, with_positions, interleaved, conjugate, dtype", [
    (5, 64, False, torch.int64, False, False, torch.bfloat16), (32, 128, True, None, True, True, torch.float32), slow(1, 64, True, torch.int32, True, False, torch.bfloat16),
    (128, 128, False, None, False, True, torch.bfloat16),
])
def test_apply_rotary(tk, heads, dim, batched, with_positions, interleaved, conjugate, dtype):
    """On the last columns of wider rows. A second tensor with heads of its own only in the first case: it is a second kernel."""
    shape = (2, 35) if batched else (70,)
    wide = torch.randn(*shape, heads, dim + 32).to(dtype)
    angle = torch.rand(200, dim // 2) * 6
    cache = torch.cat([angle.cos(), angle.sin()], dim=1)
    positions = torch.randint(0, 190, shape) if with_positions else None
    inputs = [wide[..., 32:]] + ([torch.randn(*shape, 1, dim).to(dtype)] if heads == 5 else [])
    want = [tk.torch.rope.rotary_embedding_ref(x.float(), angle.cos(), angle.sin(), positions, 7, interleaved, conjugate) for x in inputs]
    on_npu = wide.npu()
    tensors = [on_npu[..., 32:]] + [x.npu() for x in inputs[1:]]
    tk.transform.apply_rotary(tensors[0], cache.npu(), *tensors[1:], positions=positions.to(with_positions).npu() if with_positions else None,
                              interleaved=interleaved, conjugate=conjugate, seqlen_offset=7)
    for got, expected in zip(tensors, want):
        assert tk.testing.numeric.calc_diff(got.cpu().float(), expected.to(dtype).float()) <= 1e-8
    assert torch.equal(on_npu.cpu()[..., :32], wide[..., :32])
