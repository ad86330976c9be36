# SPDX-License-Identifier: MIT
"""Differentiation and training on npu."""

import threading

import pytest
import torch
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")      # PyTorch's own, from its optimizers


def trained(device, dtype=torch.float32, **options):
    """The weights of a small network after three steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)).to(device, dtype)
    x, y = torch.randn(16, 6).to(device, dtype), torch.randint(0, 3, (16,)).to(device)
    optimizer = options.pop("optimizer", torch.optim.AdamW)(model.parameters(), lr=0.01, **options)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x).float(), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]


@pytest.mark.parametrize("variant", [{}, {"foreach": True}, {"fused": True}], ids=["plain", "foreach", "fused"])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_training_equals_the_cpus(optimizer, variant):
    for ours, theirs in zip(trained("npu", optimizer=optimizer, **variant), trained("cpu", optimizer=optimizer), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_training_in_bf16_equals_the_cpus():
    for ours, theirs in zip(trained("npu", torch.bfloat16), trained("cpu", torch.bfloat16), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_gradients_of_views_and_in_place_operators():
    def gradient(device):
        x = torch.arange(6.0, device=device).view(2, 3).requires_grad_()
        y = x * 1
        y[:, 1].mul_(3)
        y.unfold(1, 2, 1).sum().backward()
        return x.grad.cpu()
    assert torch.equal(gradient("npu"), gradient("cpu"))


def test_a_saved_tensor_that_changed_is_noticed():
    x = torch.ones(3, device="npu", requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_backward_in_several_threads_and_on_several_devices():
    errors = []

    def work(device):
        try:
            for _ in range(10):
                x = torch.randn(20, 20, device=device, requires_grad=True)
                (x @ x).cos().sum().backward()
                assert x.grad.device == x.device
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"npu:{i % 3}",)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_backward_across_devices():
    x = torch.ones(3, device="npu:0", requires_grad=True)
    ((x * 2).to("npu:1") * 3).cpu().sum().backward()
    assert x.grad.tolist() == [6, 6, 6] and x.grad.device == torch.device("npu:0")


def test_backward_runs_on_the_stream_of_the_forward():
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        x = torch.ones(3, device="npu", requires_grad=True)
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_custom_functions_and_checkpoints():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(4, device="npu", requires_grad=True)
    for reentrant in (True, False):
        x.grad = None
        torch.manual_seed(1)
        checkpoint(lambda t: torch.nn.functional.dropout(Double.apply(t)), x, use_reentrant=reentrant).sum().backward()
        torch.manual_seed(1)
        assert torch.equal(x.grad, 2 * torch.nn.functional.dropout(torch.ones(4, device="npu")))


def test_checkpointing_without_tensors_keeps_the_random_state_of_npu():
    assert torch.utils.checkpoint.DefaultDeviceType.get_device_type() == "npu"


def test_operators_without_a_derivative_say_so_in_backward():
    library = torch.library.Library("npu_autograd_test", "DEF")
    library.define("half(Tensor x) -> Tensor")
    library.impl("half", lambda x: x / 2, "CPU")
    x = torch.ones(3, device="npu", requires_grad=True)
    y = torch.ops.npu_autograd_test.half(x)
    with pytest.warns(UserWarning, match="autograd kernel was not registered"):
        y.sum().backward()


def test_forward_mode_and_function_transforms():
    x = torch.tensor([0.5, 1.0], device="npu")
    value, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    assert torch.allclose(tangent, x.cos()) and torch.allclose(value, x.sin())
    per_sample = torch.func.vmap(torch.func.grad(lambda v: (v**2).sum()))(torch.ones(2, 3, device="npu"))
    assert per_sample.tolist() == [[2, 2, 2]] * 2


def test_inference_mode():
    with torch.inference_mode():
        x = torch.ones(3, device="npu")
        y = (x + 1)[1:]
        y.mul_(2)
    assert y.is_inference() and y.tolist() == [4, 4]


def test_compiled_functions_without_a_code_generator():
    compiled = torch.compile(lambda t: (t * 2).relu() + 1, backend="aot_eager")
    x = torch.tensor([-1.0, 2.0], device="npu", requires_grad=True)
    y = compiled(x)
    y.sum().backward()
    assert y.tolist() == [1, 5] and x.grad.tolist() == [0, 2]
