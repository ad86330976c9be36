# SPDX-License-Identifier: MIT
"""Graphs: work that is captured once on a stream and then done again, on the same memory, with one call.

What a capture records: operators, copies, kernels of the chip, whole autograd passes, on the captured stream and on streams that join it
through events. Nothing of it takes place: memory that existed before and the state of generators are afterwards as they were. What needs a
value on the host raises. Replays run on the stream that is then current and are charged as the work itself; host overhead counts nothing
here, so a graph saves no simulated time. Collectives are captured like kernels. Pools are not shared: a graph keeps all that was allocated
during its capture until it is reset.
"""

import gc

import torch

from ascend_sim import _C, arguments
from ascend_sim.npu.devices import current_device, synchronize
from ascend_sim.npu.memory import empty_cache
from ascend_sim.npu.streams import Stream, npu_stream
from ascend_sim.npu.streams import stream as on_stream

_MODES = ("default", "global", "thread_local", "relaxed")


class NPUGraph(torch._C._acceleratorGraph):
    """Captured work. Also usable through torch.accelerator.Graph, which is the same thing under PyTorch's own name."""

    def __new__(cls, keep_graph: bool = False):
        arguments.flag("torch.npu.NPUGraph", "keep_graph", keep_graph)
        return super().__new__(cls, keep_graph)

    def __init__(self, keep_graph: bool = False):
        super().__init__(keep_graph)

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        """Everything submitted to the current stream, which must not be the default one, is captured until capture_end."""
        arguments.one_of("torch.npu.NPUGraph.capture_begin", "capture_error_mode", capture_error_mode, _MODES)
        super().capture_begin(pool=pool, capture_error_mode=capture_error_mode)

    def update(self, cpu_update_input) -> None:
        """Of the real device's graphs whose operators take lists on the host. graph_task_update_begin and _end do that here."""
        raise NotImplementedError("NPUGraph.update: exchange captured work with graph_task_group_begin / _end and graph_task_update_begin "
                                  "/ _end instead.")


class graph:
    """Captures the work of a `with` block into `npu_graph`, on `stream` or on a stream of its own.

    pool: a hint that is accepted and has no effect; auto_dispatch_capture likewise.
    """

    _streams: dict[int, Stream] = {}

    def __init__(self, npu_graph, pool=None, stream=None, auto_dispatch_capture: bool = False, capture_error_mode: str = "global"):
        self._graph = arguments.instance("torch.npu.graph", "npu_graph", npu_graph, torch._C._acceleratorGraph, "a torch.npu.NPUGraph")
        self._pool, self._mode = _pool("torch.npu.graph", pool), arguments.one_of("torch.npu.graph", "capture_error_mode", capture_error_mode, _MODES)
        if stream is None:
            device = current_device()
            if device not in self._streams:
                self._streams[device] = Stream(device)
            stream = self._streams[device]
        self._context = on_stream(stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        self._context.__enter__()
        try:
            self._graph.capture_begin(pool=self._pool, capture_error_mode=self._mode)
        except BaseException:
            self._context.__exit__()
            raise

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                self._graph.capture_end()
            else:
                self._graph.reset()         # a capture that failed leaves nothing
        finally:
            self._context.__exit__(kind, error, trace)


def _pool(function: str, pool):
    if pool is not None and not (isinstance(pool, tuple) and len(pool) == 2 and all(isinstance(part, int) for part in pool)):
        raise TypeError(f"{function}: pool is {arguments.shown(pool)}; expected None, or what graph_pool_handle() or a graph's pool() returns.")
    return pool


def is_current_stream_capturing() -> bool:
    return _C.is_capturing(_C.current_device())


def graph_pool_handle() -> tuple[int, int]:
    """A name for a pool, to be given to several captures."""
    return _C.new_graph_pool_id()


def graph_task_group_begin(stream) -> None:
    """What is captured on `stream` until graph_task_group_end can be exchanged later."""
    npu_stream("torch.npu.graph_task_group_begin", stream)
    _C.begin_group(stream.device_index, stream.stream_id)


def graph_task_group_end(stream) -> int:
    """Returns the handle that graph_task_update_begin takes."""
    npu_stream("torch.npu.graph_task_group_end", stream)
    return _C.end_group(stream.device_index, stream.stream_id)


def graph_task_update_begin(stream, handle: int) -> None:
    """What is submitted to `stream` until graph_task_update_end replaces the group; it is not done before the next replay."""
    npu_stream("torch.npu.graph_task_update_begin", stream)
    handle = arguments.whole("torch.npu.graph_task_update_begin", "handle", handle, 0, 2**63 - 1)
    _C.begin_update(stream.device_index, stream.stream_id, handle)


def graph_task_update_end(stream) -> None:
    npu_stream("torch.npu.graph_task_update_end", stream)
    _C.end_update(stream.device_index, stream.stream_id)


def make_graphed_callables(callables, sample_args, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool=None):
    """Functions or modules whose forward and backward pass are graphs.

    callables: one, or a tuple; sample_args: a tuple of tensors for each, of the shapes and requires_grad of later calls. A module keeps its
    identity and gets a new forward, used while its training flag is as it was at the capture. The results are overwritten by the next call.
    """
    name = "torch.npu.make_graphed_callables"
    for function in callables if isinstance(callables, tuple) else (callables,):
        arguments.function_of(name, "callables", function)
    for sample in (sample_args,) if not isinstance(callables, tuple) else arguments.instance(name, "sample_args", sample_args, (tuple, list), "a tuple for each callable"):
        arguments.instance(name, "sample_args", sample, (tuple, list), "a tuple of tensors" + (" for each callable" if isinstance(callables, tuple) else ""))
    num_warmup_iters, allow_unused_input = arguments.whole(name, "num_warmup_iters", num_warmup_iters, 0), arguments.flag(name, "allow_unused_input", allow_unused_input)
    _pool(name, pool)
    if torch.is_autocast_enabled("npu") and torch.is_autocast_cache_enabled():
        raise RuntimeError("torch.npu.make_graphed_callables: autocast keeps a cache of casts, which a graph cannot use; enter it with "
                           "cache_enabled=False.")
    if not isinstance(callables, tuple):
        return _graphed(callables, tuple(sample_args), num_warmup_iters, allow_unused_input, pool)
    if len(callables) != len(sample_args):
        raise ValueError(f"torch.npu.make_graphed_callables: {len(callables)} callables and {len(sample_args)} tuples of sample "
                         "arguments given; expected as many of one as of the other.")
    return tuple(_graphed(function, tuple(arguments), num_warmup_iters, allow_unused_input, pool)
                 for function, arguments in zip(callables, sample_args, strict=True))


def _graphed(function, sample_args: tuple, warmups: int, allow_unused: bool, pool):
    leaves = torch.utils._pytree.arg_tree_leaves(*sample_args)
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise TypeError("torch.npu.make_graphed_callables: sample_args must hold tensors only.")
    parameters = tuple(function.parameters()) if isinstance(function, torch.nn.Module) else ()
    surface = (*leaves, *parameters)
    wanted = tuple(t for t in surface if t.requires_grad)

    def gradients(outputs, output_gradients):
        return torch.autograd.grad(outputs, wanted, output_gradients, only_inputs=True, allow_unused=allow_unused)

    with on_stream(Stream()):
        for _ in range(warmups):
            outputs = [o for o in torch.utils._pytree.tree_leaves(function(*sample_args)) if o.requires_grad]
            if outputs and wanted:
                gradients(outputs, [torch.empty_like(o) for o in outputs])
            del outputs

    forward_graph, backward_graph = NPUGraph(), NPUGraph()
    with graph(forward_graph, pool=pool):
        results = function(*sample_args)
    outputs, structure = torch.utils._pytree.tree_flatten(results)
    differentiable = [o for o in outputs if o.requires_grad]
    output_gradients = [torch.empty_like(o) if o.requires_grad else None for o in outputs]
    found = ()
    if differentiable and wanted:
        with graph(backward_graph, pool=pool):
            found = gradients(differentiable, [g for g in output_gradients if g is not None])
    following = iter(found)
    surface_gradients = [next(following) if t.requires_grad and found else None for t in surface]

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(context, *inputs):
            for static, given in zip(leaves, inputs):
                if static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            forward_graph.replay()
            return tuple(o.detach() for o in outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context, *grads):
            for static, given in zip(output_gradients, grads):
                if static is not None and static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            backward_graph.replay()
            return tuple(g.detach() if g is not None else None for g in surface_gradients)

    def replayed(*arguments):
        flat = torch.utils._pytree.arg_tree_leaves(*arguments)
        if len(flat) != len(leaves):
            raise ValueError(f"a graphed callable was given {len(flat)} tensors; expected {len(leaves)}, as in its sample arguments.")
        return torch.utils._pytree.tree_unflatten(Graphed.apply(*flat, *parameters), structure)

    if not isinstance(function, torch.nn.Module):
        return replayed
    plain, was_training = function.forward, function.training
    function.forward = lambda *arguments, **named: (
        replayed(*arguments) if function.training == was_training else plain(*arguments, **named))
    return function
