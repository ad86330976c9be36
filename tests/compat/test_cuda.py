# SPDX-License-Identifier: MIT
"""Under the stand-in `cuda`, code written for CUDA runs on npu, what cannot be there says so, and afterwards all is as before."""

import inspect
import io
import warnings

import pytest
import torch
from ascend_sim import backends, compat
from ascend_sim.compat._cuda import devices, distributed, module

NPU = torch.device("npu:0")
pytestmark = [pytest.mark.filterwarnings("ignore:PyTorch is not compiled with NCCL"), pytest.mark.filterwarnings("ignore:.*AccumulateGrad node's stream"), pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
              pytest.mark.filterwarnings("ignore:.*torch.jit.script")]


def names_in(owner) -> dict:
    return {name: value for name, value in vars(owner).items() if not name.startswith("__")}


def test_everything_is_put_back():
    owners = (torch, torch.cuda, torch.cuda.memory, torch.cuda.nvtx, torch.Tensor, torch.UntypedStorage, torch.library, torch.distributed,
              torch.accelerator, torch.utils._device.DeviceContext, torch.autocast, torch.serialization)
    before = [names_in(owner) for owner in owners]
    packages = list(torch.serialization._package_registry)
    with compat.cuda_as_npu(), compat.cuda_as_npu():
        assert torch.cuda.is_available()
    assert [names_in(owner) for owner in owners] == before and torch.serialization._package_registry == packages
    assert not torch.cuda.is_available() and not torch.ones(1, device="npu").is_cuda


def test_every_function_of_pytorch_that_takes_a_device_is_covered():
    schemas = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()
               if schema.name.startswith("aten::") and any(a.name == "device" for a in schema.arguments)}
    public = {name for name in schemas if hasattr(torch, name) and not name.startswith("_")} - {"Generator"}
    constructors = {f.__name__.rpartition("fft_")[2] for f in torch.utils._device._device_constructors()}
    assert public | constructors <= {*devices.FACTORIES, "fftfreq", "rfftfreq", "nested_tensor", "get_autocast_dtype"}
    methods = {name for name in schemas if hasattr(torch.Tensor, name) and not name.startswith("_")}
    assert methods <= set(devices.TENSOR_METHODS)
    accelerator = {name for name, f in vars(torch.accelerator).items() if inspect.isfunction(f) and not name.startswith("_")
                   and any(p.startswith("device") for p in inspect.signature(f).parameters)}
    assert accelerator - {"set_device_idx", "deprecated"} <= set(devices.ACCELERATOR)


def test_every_public_name_of_torch_cuda_is_answered_or_known_to_be_of_cuda_alone():
    of_cuda = {"GreenContext", "CudaError", "DeferredCudaCallError", "cudaStatus", "check_error", "caching_allocator_disabled", "cast"}
    classes_and_functions = {name for name, value in vars(torch.cuda).items() if not name.startswith("_") and callable(value)
                             and getattr(value, "__module__", "").startswith(("torch.cuda", "torch._C"))
                             and not name.endswith(("Storage", "Tensor"))}
    with compat.cuda_as_npu():
        answered = {name for name, value in vars(torch.cuda).items() if name in classes_and_functions
                    and not str(getattr(value, "__module__", "")).startswith("torch.cuda")}
    left = classes_and_functions - answered - of_cuda
    assert left <= {"get_rng_state", "set_rng_state", "cudart", "AcceleratorError", "OutOfMemoryError"}, left


@pytest.mark.parametrize("name", ["cuda", "cuda:2", torch.device("cuda"), torch.device("cuda", 2)], ids=str)
def test_a_cuda_device_is_the_npu_of_its_index(cuda, name):
    expected = torch.device("npu", torch.device(name).index or 0)
    x = torch.ones(2, 3)
    made = [torch.zeros(2, device=name), torch.tensor([1.0], device=name), torch.arange(3, device=name), torch.ones_like(x, device=name),
            torch.asarray([1], device=name), torch.fft.fftfreq(4, device=name), torch.signal.windows.hann(4, device=name),
            torch.normal(0.0, 1.0, (2,), device=name), torch.sparse_coo_tensor((2, 2), device="cpu").to_dense().to(name),
            x.to(name), x.to(device=name, dtype=torch.half), x.to(name, torch.half), x.cuda(name), x.new_zeros(2, device=name), x.new_tensor([1], device=name),
            torch.nn.Linear(2, 2, device=name).weight, torch.nn.Linear(2, 2).to(name).weight, torch.nn.Linear(2, 2).cuda(name).weight,
            torch.nn.Linear(2, 2, device="meta").to_empty(device=name).weight, torch.nn.utils.rnn.pack_sequence([x]).to(name).data]
    with torch.device(name):
        made += [torch.randn(2), torch.nn.Linear(2, 2).weight]
    torch.set_default_device(name)
    try:
        made.append(torch.full((2,), 3))
    finally:
        torch.set_default_device(None)
    assert {t.device for t in made} == {expected} and all(t.is_cuda for t in made)
    assert not x.is_cuda and x.to(x.device) is x
    with torch.cuda.device(name):
        assert torch.cuda.current_device() == expected.index and torch.ones(1).cuda().device == expected
    assert torch.ones(1).cuda().device == NPU and x.cuda(3).device.index == x.to(3).device.index == 3
    assert made[0].to(name) is made[0] and made[0].cuda(name) is made[0]


def test_devices_that_do_not_exist_and_other_names_are_refused(cuda):
    with pytest.raises(RuntimeError, match="device index 99 does not exist; expected 0 to 7"):
        torch.zeros(2, device="cuda:99")
    for text in ("cuda:x", "cudas", "cuda:-1"):
        with pytest.raises(RuntimeError):
            torch.zeros(2, device=text)
    with pytest.raises(RuntimeError, match="99 does not exist"):
        torch.cuda.set_device("cuda:99")
    with pytest.raises(TypeError):
        torch.zeros(2, device=1.5)
    assert torch.ones(2, device="meta").device.type == "meta" and torch.ones(2).device.type == "cpu"


def test_a_training_step_as_it_is_written_for_cuda(cuda):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    scaler = torch.amp.GradScaler("cuda")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 8), torch.randn(16, 1)), batch_size=8, pin_memory=True)
    losses = []
    for _ in range(3):
        for x, y in loader:
            assert x.is_pinned()
            x, y = x.to(cuda, non_blocking=True), y.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device_type=cuda.type, dtype=torch.bfloat16):
                prediction = model(x)
                assert prediction.dtype == torch.bfloat16 == torch.get_autocast_dtype("cuda") and torch.is_autocast_enabled("cuda")
                loss = torch.nn.functional.mse_loss(prediction.float(), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    assert scaler.is_enabled() and losses[-1] < losses[0] and not torch.is_autocast_enabled("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with torch.cuda.amp.autocast(dtype=torch.bfloat16):
            assert model(torch.ones(1, 8, device=cuda)).dtype == torch.bfloat16
        assert torch.cuda.amp.GradScaler().is_enabled()


def test_streams_and_events(cuda):
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream and stream.cuda_stream == stream.npu_stream
        y = torch.ones(1000, device=cuda) * 2
        y.record_stream(stream)
    torch.cuda.current_stream().wait_stream(stream)
    end.record()
    end.synchronize()
    torch.cuda.synchronize("cuda:0")
    assert end.query() and start.elapsed_time(end) > 0 and isinstance(torch.cuda.current_stream("cuda:1"), torch.cuda.Stream)
    assert torch.cuda.default_stream().cuda_stream == 0 and torch.cuda.ExternalStream(stream.cuda_stream) == stream
    other = torch.cuda.Stream(device="cuda:1", priority=-1)
    assert other.device_index == 1


def test_graphs(cuda):
    x, graph = torch.ones(4, device=cuda), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), stream=torch.cuda.Stream()):
        assert torch.cuda.is_current_stream_capturing()
        y = x * 3
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [15] * 4
    layer = torch.nn.Linear(4, 4).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (torch.ones(2, 4, device=cuda),))
    graphed(torch.ones(2, 4, device=cuda)).sum().backward()
    assert layer.weight.grad.is_cuda


def test_random_state(cuda):
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device=cuda)
    torch.cuda.set_rng_state(state, "cuda")
    assert torch.equal(torch.rand(3, device=cuda), first) and torch.cuda.initial_seed() == 3
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert torch.equal(torch.rand(3, device=cuda, generator=generator), first) and isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator) and torch.Generator().device.type == "cpu"
    with torch.random.fork_rng(devices=[0]):
        torch.rand(3, device=cuda)
    after = torch.rand(3, device=cuda)
    torch.cuda.set_rng_state_all([state] * 8)
    torch.rand(3, device=cuda)
    assert torch.equal(torch.rand(3, device=cuda), after) and len(torch.cuda.get_rng_state_all()) == 8
    assert torch.cuda.default_generators[1].device == torch.device("npu:1")


@pytest.mark.parametrize("location", ["cuda", "cuda:1", torch.device("cuda:1"), {"cpu": "cuda:1"}, lambda storage, tag: storage.cuda(1)], ids=str)
def test_files_load_onto_cuda(cuda, location):
    buffer = io.BytesIO()
    torch.save({"x": torch.arange(3)}, buffer)
    buffer.seek(0)
    x = torch.load(buffer, map_location=location)["x"]
    assert x.device.type == "npu" and x.device.index == (0 if location == "cuda" else 1) and x.tolist() == [0, 1, 2]


def test_files_that_were_saved_on_cuda_load(cuda):
    storage = torch.arange(3).untyped_storage()
    restored = torch.serialization.default_restore_location(storage, "cuda:1")
    assert restored.device == torch.device("npu:1")
    assert torch.serialization.default_restore_location(storage, "cpu") is storage


def test_memory_figures(cuda):
    before = torch.cuda.memory_allocated("cuda:5")
    x = torch.empty(1000, device="cuda:5")
    assert torch.cuda.memory_allocated(torch.device("cuda:5")) == before + 4096 == torch.cuda.memory.memory_allocated(5)
    torch.cuda.reset_peak_memory_stats("cuda:5")
    assert torch.cuda.max_memory_allocated("cuda:5") >= x.nbytes and torch.cuda.mem_get_info("cuda:5")[1] == 144_000_000_000
    assert "npu:5" in torch.cuda.memory_summary("cuda:5") and torch.cuda.memory_stats(5)["num_ooms"] >= 0
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.empty(200_000_000_000, dtype=torch.uint8, device="cuda:5")
    with torch.cuda.use_mem_pool(torch.cuda.MemPool(), "cuda:5"):
        torch.empty(3, device="cuda:5")
    torch.cuda.empty_cache()


def test_what_a_device_says_of_itself(cuda):
    properties = torch.cuda.get_device_properties("cuda:1")
    assert properties.name == torch.cuda.get_device_name(1) == "Ascend950DT_9581" and properties.multi_processor_count == 32
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability() == (10, 0)
    assert torch.cuda.device_count() == 8 and torch.cuda.is_bf16_supported() and torch.cuda.get_arch_list() == ["sm_100"]
    with backends.use("cuda:sm90"):
        assert torch.cuda.get_device_capability("cuda") == (9, 0)
    with backends.use("cuda"):          # its own default does not ask the stand-in
        assert "no CUDA device here" in backends.listing()["cuda"].reason and backends.package("cuda").arch() == 100
    assert torch.version.cuda is None
    assert torch.cuda.cudart().cudaProfilerStart() == 0
    with torch.cuda.nvtx.range("work"):
        torch.cuda.nvtx.mark("here")
    with pytest.raises(RuntimeError, match="no range is open"):
        torch.cuda.nvtx.range_pop()


@pytest.mark.parametrize("name", [*module.MISSING, *(f"memory.{name}" for name in module.MISSING_MEMORY)])
def test_what_cannot_be_there_says_so_when_called(cuda, name):
    function = torch.cuda
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(NotImplementedError, match=f"torch.cuda.{name}: there is no such thing"):
        function()


def test_typed_tensors_of_the_older_style(cuda):
    x = torch.cuda.FloatTensor([1, 2])
    assert isinstance(x, torch.cuda.FloatTensor) and x.device == NPU
    assert torch.ones(2).type("torch.cuda.HalfTensor").dtype == torch.half and torch.ones(2).type(torch.cuda.LongTensor).is_cuda
    assert torch.ones(2).type(torch.float64).dtype == torch.float64 and torch.ones(2).type() == "torch.FloatTensor"
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        assert torch.ones(1).is_cuda
    finally:
        torch.set_default_device(None)


def test_operators_registered_for_cuda_are_found_on_npu(cuda):
    library = torch.library.Library("cuda_shim_test", "DEF")
    for name in ("one", "two", "three"):
        library.define(f"{name}(Tensor x) -> Tensor")
    library.impl("one", lambda x: x + 1, "CUDA")
    torch.library.impl("cuda_shim_test::two", "cuda", lambda x: x + 2)
    torch.library.impl(library, "three", "CUDA")(lambda x: x + 3)

    @torch.library.custom_op("cuda_shim_test::four", mutates_args=(), device_types="cuda")
    def four(x: torch.Tensor) -> torch.Tensor:
        return x + 4

    @torch.library.custom_op("cuda_shim_test::five", mutates_args=(), device_types="cpu")
    def five(x: torch.Tensor) -> torch.Tensor:
        raise AssertionError

    five.register_kernel("cuda")(lambda x: x + 5)
    x, ops = torch.zeros(1, device=cuda), torch.ops.cuda_shim_test
    assert [f(x).item() for f in (ops.one, ops.two, ops.three, four, five)] == [1, 2, 3, 4, 5]


def test_data_parallel_splits_a_batch(cuda):
    layer = torch.nn.Linear(2, 2).cuda()
    x = torch.ones(16, 2, device=cuda)
    result = torch.nn.DataParallel(layer)(x)
    assert torch.equal(result, layer(x))
    result.sum().backward()
    assert layer.weight.grad.tolist() == [[16, 16], [16, 16]]


def test_what_other_libraries_must_not_take_for_cuda(cuda):
    x = torch.ones(2, device=cuda)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(NotImplementedError, match="torch.cuda.nccl.version"):
        torch.cuda.nccl.version()


def test_script_functions_still_compile(cuda):
    @torch.jit.script
    def scripted(x: torch.Tensor):
        return x + torch.zeros(3) + torch.ones_like(x)

    assert scripted(torch.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_functions_compile_before_and_after():
    for _ in range(2):
        torch._dynamo.reset()
        assert torch.compile(lambda x: x.to("npu") + torch.ones(2, device="npu"), backend="eager", fullgraph=True)(torch.ones(2)).tolist() == [2, 2]
        with compat.cuda_as_npu():
            torch._dynamo.reset()
            assert torch.compile(lambda x: x.cuda() + torch.ones(2, device="cuda"), backend="eager", fullgraph=True)(torch.ones(2)).tolist() == [2, 2]
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_compiled_functions_may_name_cuda(cuda):
    def function(x):
        if torch.cuda.is_available() and not x.is_cuda:
            x = x.cuda() + x.to("cuda:0")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = (x @ x).relu() + torch.ones(2, device="cuda") + torch.zeros_like(x, device=torch.device("cuda"))
        return y, torch.cuda.get_device_capability()

    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        y, capability = torch.compile(function, backend=backend, fullgraph=True)(torch.ones(2, 2))
        assert y.tolist() == [[9, 9], [9, 9]] and y.device == NPU and capability == (10, 0)

    def with_streams(x):
        stream, event = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(stream):
            y = x + 1
            event.record()
        torch.cuda.current_stream().wait_event(event)
        torch.cuda.synchronize()
        return y * 2

    torch._dynamo.reset()
    assert torch.compile(lambda x: x + 1 if x.is_cuda else x, backend="eager", fullgraph=True)(torch.ones(2, device=cuda)).tolist() == [2, 2]
    assert torch.compile(with_streams, backend="eager")(torch.ones(2, device=cuda)).tolist() == [4, 4]
    torch._dynamo.reset()


def test_profiles_of_cuda_show_npu(cuda):
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CPU, activity.CUDA]) as profile:
        torch.ones(1000, device=cuda).exp()
    assert any(event.device_time_total > 0 for event in profile.key_averages())


@pytest.mark.parametrize("given, taken", [("nccl", "hccl"), ("NCCL", "hccl"), ("cpu:gloo,cuda:nccl", "cpu:gloo,npu:hccl"), ("gloo", "gloo"),
                                          (None, None)])
def test_nccl_means_hccl(given, taken):
    assert distributed.backend_of(given) == taken


def test_a_process_group_of_nccl(cuda):
    dist = torch.distributed
    assert dist.is_nccl_available()
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda:0"))
    try:
        x = torch.ones(2, device=cuda)
        dist.all_reduce(x, group=dist.new_group([0], backend="nccl"))
        assert dist.get_backend() == "hccl" and x.tolist() == [1, 1]
        layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0])
        layer(x).sum().backward()
        assert layer.module.weight.grad.is_cuda
        assert dist.init_device_mesh("cuda", (1,)).device_type == "npu"
    finally:
        dist.destroy_process_group()
