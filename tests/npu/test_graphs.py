# SPDX-License-Identifier: MIT
"""Graphs: a replay does what was captured, on the same memory; a capture itself changes nothing."""

import gc

import pytest
import torch

import ascend_sim
import deep_gemm
from ascend_sim import _C


def captured(work, **options):
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, **options):
        result = work()
    return graph, result


def test_a_replay_reads_the_inputs_of_now_and_writes_the_outputs_of_then():
    x = torch.ones(4, device="npu")
    graph, y = captured(lambda: (x * 2 + 1).relu())
    address = y.data_ptr()
    for value in (3.0, -5.0, 0.5):
        x.fill_(value)
        graph.replay()
        assert y.data_ptr() == address and y.tolist() == [max(0.0, value * 2 + 1)] * 4


def test_a_capture_changes_nothing():
    x, counter = torch.arange(6.0, device="npu"), torch.zeros(2, device="npu")
    torch.manual_seed(4)

    def work():
        counter.add_(1)
        x[1:3].mul_(10)
        x.view(2, 3).t()[0].copy_(torch.rand(2, device="npu"))
        return torch.nn.functional.dropout(x, 0.5)

    state = torch.npu.get_rng_state()
    before = torch.npu.Event(enable_timing=True)
    after = torch.npu.Event(enable_timing=True)
    before.record()
    graph, _ = captured(work)
    after.record()
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and counter.tolist() == [0, 0] and before.elapsed_time(after) == 0
    assert torch.equal(torch.npu.get_rng_state(), state)
    for _ in range(3):
        graph.replay()
    assert counter.tolist() == [3, 3] and x[1] == 1000


def test_each_replay_draws_new_random_numbers_from_the_generator():
    torch.manual_seed(7)
    graph, y = captured(lambda: torch.rand(5, device="npu"))
    drawn = []
    for _ in range(2):
        graph.replay()
        drawn.append(y.clone())
    torch.manual_seed(7)
    assert torch.equal(drawn[0], torch.rand(5, device="npu")) and torch.equal(drawn[1], torch.rand(5, device="npu"))


def test_kernels_of_the_chip_and_their_workspaces_are_replayed():
    torch.manual_seed(0)
    a, b = torch.randn(64, 256).npu(), torch.randn(48, 256).npu()

    def work():
        d = torch.empty(64, 48, dtype=torch.bfloat16, device="npu")
        deep_gemm.fp8_gemm_nt(deep_gemm.per_token_cast_to_fp8(a, use_ue8m0=True, gran_k=32),
                              deep_gemm.per_token_cast_to_fp8(b, use_ue8m0=True, gran_k=32), d)
        return d.softmax(-1)

    work()
    graph, result = captured(work)
    other = [torch.full((1000,), 7.0, device="npu") for _ in range(20)]         # would take the graph's memory if it were free
    for _ in range(2):
        a.copy_(torch.randn(64, 256))
        with ascend_sim.profile(timeline=False) as replayed:
            graph.replay()
        with ascend_sim.profile(timeline=False) as eager:
            expected = work()
        assert torch.equal(result, expected)
        assert [r.name for r in replayed.records] == [r.name for r in eager.records]
        assert any(not r.is_estimate for r in replayed.records)
    assert all(bool((t == 7).all()) for t in other)


def test_layers_and_their_backward_pass_are_captured():
    torch.manual_seed(0)
    model = torch.nn.ModuleList([torch.nn.Conv1d(3, 4, 3), torch.nn.LSTM(6, 5), torch.nn.Linear(5, 2)]).npu()
    x = torch.randn(2, 3, 8, device="npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = model[2](model[1](model[0](x))[0]).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step()
    saved = [p.detach().clone() for p in model.parameters()]
    graph, loss = captured(step)
    assert all(torch.equal(p, s) for p, s in zip(model.parameters(), saved, strict=True))
    losses = []
    for seed in range(3):
        x.copy_(torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        losses.append(loss.item())
    for p, s in zip(model.parameters(), saved, strict=True):
        p.data.copy_(s)
    for seed, expected in enumerate(losses):
        x.copy_(torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(seed)))
        assert step().item() == expected


def test_streams_that_join_through_events_are_captured_too():
    x = torch.ones(3, device="npu")
    side = torch.npu.Stream()

    def work():
        main = torch.npu.current_stream()
        side.wait_stream(main)
        with torch.npu.stream(side):
            assert torch.npu.is_current_stream_capturing()
            y = x * 2
        main.wait_stream(side)
        return y + 1

    graph, y = captured(work)
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11] * 3


def test_external_events_order_work_inside_and_outside():
    event, x = torch.npu.ExternalEvent(), torch.ones(3, device="npu")
    graph, y = captured(lambda: (event.wait(), event.reset(), x + 1)[2])
    event.record()
    graph.replay()
    assert y.tolist() == [2, 2, 2] and event.query()


def test_other_streams_are_not_captured():
    x, y = torch.zeros(2, device="npu"), torch.zeros(2, device="npu")
    with torch.npu.stream(torch.npu.Stream()):
        graph = torch.npu.NPUGraph()
        graph.capture_begin()
        assert torch.npu.is_current_stream_capturing()
        x.add_(1)
        with torch.npu.stream(torch.npu.default_stream()):
            assert not torch.npu.is_current_stream_capturing()
            y.add_(1)
        graph.capture_end()
    assert x.tolist() == [0, 0] and y.tolist() == [1, 1]
    graph.replay()
    assert x.tolist() == [1, 1] and y.tolist() == [1, 1]


@pytest.mark.parametrize("use", [
    lambda x: x.sum().item(), lambda x: x.cpu(), lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: bool((x > 0).all()),
    lambda x: torch.npu.synchronize(), lambda x: torch.npu.current_stream().synchronize(), lambda x: x.copy_(torch.ones(3)),
    lambda x: torch.unique(x)], ids=["item", "cpu", "nonzero", "mask", "bool", "synchronize", "stream", "pageable", "unique"])
def test_what_needs_the_host_is_refused_and_the_capture_ends(use):
    x = torch.ones(3, device="npu")
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="NPU graph: .* while the stream is captured"), torch.npu.graph(graph):
        x.add_(1)
        use(x)
    assert x.tolist() == [1, 1, 1] and not torch.npu.is_current_stream_capturing()
    with torch.npu.graph(graph):
        x.add_(1)
    graph.replay()
    assert x.tolist() == [2, 2, 2]


def test_pinned_memory_is_read_at_each_replay():
    source, x = torch.ones(3).pin_memory(), torch.zeros(3, device="npu")
    graph, _ = captured(lambda: x.copy_(source, non_blocking=True))
    source.fill_(4)
    graph.replay()
    assert x.tolist() == [4, 4, 4]


def test_misuse_is_said():
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="nothing has been captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="default stream"):
        graph.capture_begin()
    with pytest.raises(ValueError, match="expected one of default, global"):
        graph.capture_begin(capture_error_mode="loose")
    with torch.npu.graph(graph):
        with torch.npu.stream(torch.npu.Stream()), pytest.raises(RuntimeError, match="another graph is being captured"):
            torch.npu.NPUGraph().capture_begin()
    with pytest.raises(RuntimeError, match="has been captured already"), torch.npu.graph(graph):
        pass
    with pytest.raises(RuntimeError, match="no capture has begun"):
        graph.capture_end()


def test_memory_of_a_graph_lives_as_long_as_it(tmp_path):
    gc.collect()
    with torch.npu.device(6):
        x = torch.ones(1000, device="npu")
        before = torch.npu.memory_allocated()
        graph, y = captured(lambda: (x + 1).mul(2))
        del y
        assert before + 2 * 4096 <= torch.npu.memory_allocated() < before + 4 * 4096      # and scalars
        graph.replay()
        graph.debug_dump(str(tmp_path / "graph.dot"))
        assert "aten::mul" in (tmp_path / "graph.dot").read_text()
        graph.reset()
        assert torch.npu.memory_allocated() == before
    assert torch.npu.graph_pool_handle() != torch.npu.graph_pool_handle()


def test_pytorchs_own_name_for_graphs_works():
    """Registered under the wrong name it would not be found, and without a host allocator it would crash."""
    x = torch.zeros(3, device="npu")
    graph = torch.accelerator.Graph()
    with torch.Stream(device="npu"), graph:
        x += 1
    assert x.tolist() == [0, 0, 0]
    graph.replay()
    assert x.tolist() == [1, 1, 1] and isinstance(graph.pool(), tuple)


def test_groups_of_a_graph_can_be_exchanged():
    x, y = torch.ones(3, device="npu"), torch.zeros(3, device="npu")
    graph, stream = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.graph(graph, stream=stream):
        x.add_(0)
        torch.npu.graph_task_group_begin(stream)
        torch.mul(x, 2, out=y)
        handle = torch.npu.graph_task_group_end(stream)
        y.add_(1)
    graph.replay()
    assert y.tolist() == [3, 3, 3]
    update = torch.npu.Stream()
    with torch.npu.stream(update):
        torch.npu.graph_task_update_begin(update, handle)
        torch.mul(x, 10, out=y)
        torch.npu.graph_task_update_end(update)
    assert y.tolist() == [3, 3, 3]
    graph.replay()
    assert y.tolist() == [11, 11, 11]
    with pytest.raises(ValueError, match="not the handle"):
        torch.npu.graph_task_update_begin(update, 10_000)
    with pytest.raises(RuntimeError, match="not being captured"):
        torch.npu.graph_task_group_begin(stream)


def test_graphed_modules_train_as_plain_ones():
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).npu()
    graphed = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).npu()
    graphed.load_state_dict(plain.state_dict())
    assert torch.npu.make_graphed_callables(graphed, (torch.randn(3, 4, device="npu"),)) is graphed
    for _ in range(2):
        x = torch.randn(3, 4, device="npu")
        for model in (plain, graphed):
            model.zero_grad()
            model(x).square().sum().backward()
            torch.optim.SGD(model.parameters(), lr=0.1).step()
        for p, g in zip(plain.parameters(), graphed.parameters(), strict=True):
            assert torch.equal(p, g) and torch.equal(p.grad, g.grad)
    double = torch.npu.make_graphed_callables(lambda t: t * 2, (torch.ones(3, device="npu"),))
    assert double(torch.full((3,), 4.0, device="npu")).tolist() == [8, 8, 8]


@pytest.mark.slow
def test_functions_compiled_by_inductor_can_be_captured():
    compiled = torch.compile(lambda t: (t * 2).sin() + 1)
    x = torch.ones(5, device="npu")
    compiled(x)
    graph, y = captured(lambda: compiled(x))
    x.fill_(0.25)
    graph.replay()
    torch.testing.assert_close(y, (x * 2).sin() + 1)
    assert _C.is_capturing(0) is False
