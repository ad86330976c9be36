# SPDX-License-Identifier: MIT
"""torch.nn.DataParallel splits a batch over npu devices and collects results and gradients."""

import pytest
import torch

pytestmark = pytest.mark.filterwarnings("ignore:PyTorch is not compiled with NCCL")


@pytest.mark.parametrize("rows", [7, 2, 1])
def test_results_and_gradients_are_those_of_the_module(rows):
    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4).eval(), torch.nn.Linear(4, 2)).npu()
    x = torch.randn(rows, 3, device="npu")
    expected = layer(x)
    expected.square().sum().backward()
    gradients = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    parallel = torch.nn.DataParallel(layer, device_ids=[0, 2, 5])
    seen = []
    handle = layer[0].register_forward_hook(lambda module, inputs, output: seen.append(output.device.index))
    result = parallel(x)
    handle.remove()
    result.square().sum().backward()
    assert result.device == torch.device("npu:0") and sorted(seen) == [0, 2, 5][:rows]
    torch.testing.assert_close(result, expected)
    for parameter, gradient in zip(layer.parameters(), gradients):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-5, atol=1e-6)


def test_the_functions_that_move_tensors():
    comm = torch.nn.parallel.comm
    x = torch.arange(6.0, device="npu").view(3, 2)
    assert [t.device.index for t in comm.broadcast(x, [0, 1])] == [0, 1]
    parts = comm.scatter(x, [1, 2], chunk_sizes=[1, 2])
    assert [(p.device.index, p.tolist()) for p in parts] == [(1, [[0, 1]]), (2, [[2, 3], [4, 5]])]
    assert torch.equal(comm.gather(parts, destination="npu:0"), x) and comm.gather(parts, destination="cpu").device.type == "cpu"
    out = torch.empty(3, 2, device="npu:3")
    assert comm.gather(parts, out=out).tolist() == x.tolist()
    targets = [torch.empty(1, 2, device="npu:4"), torch.empty(2, 2, device="npu:5")]
    comm.scatter(x, out=targets)
    assert targets[1].tolist() == [[2, 3], [4, 5]]
    copies = comm.broadcast_coalesced([x, x + 1], [0, 6])
    assert copies[1][1].device.index == 6 and torch.equal(copies[1][1].cpu(), (x + 1).cpu())
    assert torch.equal(comm.reduce_add([copies[0][0], copies[1][0]], 0), 2 * x)
    with pytest.raises(RuntimeError, match="split_with_sizes expects"):
        comm.scatter(x, [1, 2], chunk_sizes=[1, 1])
