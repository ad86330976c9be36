# SPDX-License-Identifier: MIT
"""Automatic mixed precision on npu."""

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_matrix_products_run_in_lower_precision_and_reductions_in_fp32(dtype):
    x, weight = torch.randn(4, 8, device="npu"), torch.randn(8, 8, device="npu")
    with torch.autocast("npu", dtype=dtype):
        assert torch.npu.is_autocast_enabled() and torch.npu.get_autocast_dtype() == dtype
        y = x @ weight
        assert y.dtype == torch.nn.functional.linear(x, weight).dtype == torch.bmm(x[None], weight[None]).dtype == dtype
        assert torch.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3).dtype == dtype
        assert torch.nn.functional.conv1d(x[None], torch.randn(2, 4, 3, device="npu")).dtype == dtype
        assert torch.softmax(y, -1).dtype == y.exp().dtype == torch.norm(y).dtype == y.sum().dtype == torch.float32
        assert torch.addcmul(x, x, y.float()).dtype == torch.float32
        assert (y + x).dtype == torch.float32
    assert not torch.npu.is_autocast_enabled()
    assert (x @ weight).dtype == torch.float32


def test_an_unsupported_type_warns_and_turns_autocast_off():
    with pytest.warns(UserWarning, match="npu"), torch.autocast("npu", dtype=torch.float64):
        assert (torch.ones(2, 2, device="npu") @ torch.ones(2, 2, device="npu")).dtype == torch.float32


@pytest.mark.parametrize("scaler", [lambda: torch.GradScaler("npu", init_scale=4.0), lambda: torch.npu.amp.GradScaler(init_scale=4.0)])
def test_scaled_gradients_step_and_skip(scaler):
    torch.manual_seed(0)
    layer, scaler = torch.nn.Linear(4, 2).npu(), scaler()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    with torch.npu.amp.autocast():
        loss = layer(torch.randn(3, 4, device="npu")).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(layer.weight, before) and scaler.get_scale() == 4.0
    optimizer.zero_grad()
    scaler.scale(layer(torch.full((1, 4), float("inf"), device="npu")).sum()).backward()
    before = layer.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(layer.weight, before) and scaler.get_scale() == 2.0


def test_supported_types_are_those_of_torch_npu():
    assert torch.npu.get_amp_supported_dtype() == [torch.float16, torch.bfloat16]
    assert torch.npu.is_bf16_supported()
