# SPDX-License-Identifier: MIT
"""torch.compile on npu: every backend gives what eager execution gives, forward and backward, and its time is charged."""

import pytest
import torch

import ascend_sim

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")      # PyTorch's own, while it imports its compilers


def block(x, weight):
    y = (x @ weight).relu() + x.sum(-1, keepdim=True)
    return torch.nn.functional.layer_norm(y, y.shape[-1:]).softmax(-1), y.argmax(-1), y.amax(0)


def gathering(x, weight):
    rows = torch.arange(len(x), device=x.device).flip(0)
    y = x[rows].index_add(0, rows, x) + torch.embedding(weight, rows % 3)[:, : x.shape[1]]
    return torch.cat([y, y * 2]), y.cumsum(0), torch.where(y > 0, y, 0).transpose(0, 1).contiguous()


def attention(x, weight):
    q = x.view(1, 2, -1, x.shape[1] // 2)
    return torch.nn.functional.scaled_dot_product_attention(q, q, q), torch.nn.functional.gelu(x).var(0), x.sort(-1).values


def convolving(x, weight):
    y = torch.nn.functional.conv1d(x[None], weight[: len(x), None, :3], groups=len(x), padding=1)
    return torch.nn.functional.max_pool1d(y, 2), torch.nn.functional.batch_norm(y, None, None, training=True)


FUNCTIONS = (block, gathering, attention, convolving)


def inputs(device, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(device, dtype).requires_grad_() for shape in ((6, 8), (8, 8))]


def with_gradients(function, tensors):
    results = function(*tensors)
    sum(r.float().square().sum() for r in results if r.is_floating_point()).backward()
    return [*results, *(t.grad for t in tensors if t.grad is not None)]


def agree(function, backend, device="npu:0"):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    ours, eager = with_gradients(compiled, inputs(device)), with_gradients(function, inputs(device))
    for a, b in zip(ours, eager, strict=True):
        assert a.device == b.device == torch.device(device)
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("function, backend", [
    *((function, backend) for function in FUNCTIONS for backend in ("eager", "aot_eager")), (block, "npu"), (block, "npugraphs"),
    (block, "npugraph_ex")])
def test_backends_without_code_generation_agree(function, backend):
    agree(function, backend)


def test_inductor_agrees_and_its_kernels_take_time():
    torch._dynamo.reset()
    compiled = torch.compile(block, fullgraph=True)
    ours, eager = with_gradients(compiled, inputs("npu:2")), with_gradients(block, inputs("npu:2"))
    for a, b in zip(ours, eager, strict=True):
        assert a.device == torch.device("npu:2")            # npu:0 is current
        torch.testing.assert_close(a, b)
    with ascend_sim.profile() as profile, torch.no_grad():
        compiled(*inputs("npu:2"))
    generated = [r for r in profile.records if r.name.startswith("cpp_fused")]
    assert generated and all(r.simulated_us >= 1.589 and r.device == 2 and r.is_estimate for r in generated)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_inductor_does_what_it_does_on_the_cpu(function, dtype):
    """Not what eager execution does: in bf16 some of its kernels are wrong on the CPU as well."""
    results = []
    for device in ("cpu", "npu:1"):
        torch._dynamo.reset()
        results.append(with_gradients(torch.compile(function), inputs(device, dtype)))
    for expected, ours in zip(*results, strict=True):
        assert ours.device == torch.device("npu:1")
        torch.testing.assert_close(ours.cpu(), expected, equal_nan=True)


@pytest.mark.slow
def test_inductor_trains_a_model_of_changing_length():
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(10, 8), torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Dropout(0.0),
                                torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)).npu()
    compiled = torch.compile(model, dynamic=True)
    for length in (4, 7, 9):
        tokens = torch.randint(0, 10, (length, 5), device="npu")
        gradients = []
        for forward in (compiled, model):
            model.zero_grad()
            forward(tokens).square().mean().backward()
            gradients.append([p.grad.clone() for p in model.parameters()])
        for ours, eager in zip(*gradients, strict=True):
            torch.testing.assert_close(ours, eager)


@pytest.mark.slow
def test_inductor_drops_about_as_much_as_asked_and_repeats_with_its_seed():
    torch._dynamo.reset()
    drop = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.25))
    x = torch.ones(10_000, device="npu")
    torch.manual_seed(1)
    first = drop(x)
    torch.manual_seed(1)
    assert torch.equal(drop(x), first) and not torch.equal(drop(x), first)
    assert 0.7 < (first > 0).float().mean().item() < 0.8


def test_operators_of_ones_own_survive_compilation():
    library = torch.library.Library("npu_compile_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "PrivateUse1")
    library.impl("twice", torch.empty_like, "Meta")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.ops.npu_compile_test.twice(x) + 1, backend="aot_eager", fullgraph=True)
    assert compiled(torch.ones(3, device="npu")).tolist() == [3, 3, 3]


def test_dynamo_knows_the_device():
    from torch._dynamo.device_interface import get_interface_for_device
    interface = get_interface_for_device("npu:1")
    assert interface is get_interface_for_device(torch.device("npu"))
    assert interface.get_compute_capability() == torch.npu.get_device_name() and interface.is_bf16_supported()
    assert interface.exchange_device(2) == 0 and interface.maybe_exchange_device(-1) == 2 and interface.current_device() == 2
    assert interface.maybe_exchange_device(0) == 2
    assert interface.get_raw_stream(0) == 0 and not interface.is_triton_capable()


def test_what_inductor_cannot_do_here_is_said():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x + 1, options={"cpp_wrapper": True})
    with pytest.raises(Exception, match="cpp_wrapper"):
        compiled(torch.ones(3, device="npu"))
