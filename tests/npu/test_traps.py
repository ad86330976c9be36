# SPDX-License-Identifier: MIT
"""What users of devices outside PyTorch's tree are known to trip over, as far as no other file here has it: docs/device.md lists all."""

import pytest
import torch
import torch.distributed as dist


@pytest.fixture
def single_rank():
    """A process group of this process alone, made by the function that is returned."""
    yield lambda backend=None: dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()


def test_a_group_without_a_named_backend_takes_hccl_for_npu(single_rank):
    single_rank()
    x = torch.ones(2, device="npu")
    dist.all_reduce(x)
    backend = dist.distributed_c10d._get_default_group()._get_backend(x.device)
    assert backend.name() == dist.get_default_backend_for_device("npu") == "hccl"
    assert type(backend.options) is type(backend).Options and not backend.options.is_high_priority_stream


def test_options_of_hccl_are_accepted_and_others_refused():
    options = torch.distributed.ProcessGroupGloo._Options()
    with pytest.raises(TypeError, match="expected ProcessGroupHCCL.Options"):
        dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1, pg_options=options)
    from ascend_sim.npu.distributed import process_group_class
    options = process_group_class().Options(is_high_priority_stream=True)
    options.hccl_config = {"hccl_buffer_size": 400}
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1, pg_options=options)
    group = dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu"))
    assert group.options.is_high_priority_stream
    dist.destroy_process_group()


def test_gloo_alone_refuses_npu_tensors_by_name(single_rank):
    single_rank("gloo")
    with pytest.raises(RuntimeError, match="npu"):
        dist.all_reduce(torch.ones(2, device="npu"))


def test_every_name_of_the_generic_memory_interface_answers():
    x = torch.ones(1000, device="npu")
    memory = torch.accelerator
    assert memory.memory_allocated() >= x.nbytes and memory.max_memory_allocated() >= x.nbytes
    assert memory.memory_reserved() >= x.nbytes and memory.max_memory_reserved() >= x.nbytes
    assert memory.memory_stats()["allocated_bytes.all.current"] == memory.memory_allocated()
    assert memory.get_memory_info() == torch.npu.mem_get_info()
    memory.reset_accumulated_memory_stats()
    memory.reset_peak_memory_stats()
    memory.empty_cache()
    memory.empty_host_cache()
    assert memory.max_memory_allocated() == memory.memory_allocated()


def test_keys_of_the_dispatcher_are_found_under_both_names():
    library = torch.library.Library("npu_traps_test", "DEF")
    library.define("one(Tensor x) -> Tensor")
    library.define("two(Tensor x) -> Tensor")
    library.impl("one", lambda x: x + 1, "PrivateUse1")
    torch.library.impl("npu_traps_test::two", "npu", lambda x: x + 2)
    x = torch.zeros(2, device="npu")
    assert torch.ops.npu_traps_test.one(x).tolist() == [1, 1] and torch.ops.npu_traps_test.two(x).tolist() == [2, 2]

    @torch.library.custom_op("npu_traps_test::three", mutates_args=(), device_types="npu")
    def three(x: torch.Tensor) -> torch.Tensor:
        return x + 3

    assert three(x).tolist() == [3, 3]
    assert torch._C._dispatch_keys(x).has(torch._C._dispatch_key_parse("AutogradPrivateUse1"))


def test_fourier_transforms_of_half_precision_are_refused_as_on_the_cpu():
    """PyTorch computes them on CUDA only; refusing is better than another precision than was asked for."""
    with pytest.raises(RuntimeError, match="Half"):
        torch.fft.fft(torch.ones(4, dtype=torch.float16, device="npu"))


def test_random_initialisation_of_every_kind_works():
    weight = torch.empty(6, 4, device="npu")
    for initialise in (torch.nn.init.normal_, torch.nn.init.uniform_, torch.nn.init.trunc_normal_, torch.nn.init.xavier_uniform_,
                       torch.nn.init.kaiming_normal_, torch.nn.init.orthogonal_, torch.nn.init.zeros_, torch.nn.init.eye_):
        initialise(weight.fill_(float("nan")))
        assert weight.isfinite().all()
    torch.nn.init.sparse_(weight, 0.5)


def test_skip_init_and_meta_tensors_materialise_on_the_device():
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2, device="npu")
    assert layer.weight.device.type == "npu"
    with torch.device("meta"):
        layer = torch.nn.Linear(3, 2)
    layer = layer.to_empty(device="npu:1")
    layer.reset_parameters()
    assert layer.weight.device == torch.device("npu:1") and layer.weight.isfinite().all()
    with torch.device("npu"):
        assert torch.ones(2).device.type == torch.nn.Linear(2, 2).weight.device.type == "npu"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_muon_trains():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 4).to(device) for device in ("cpu", "npu")]
    layers[1].load_state_dict(layers[0].state_dict())
    for layer in layers:
        optimizer = torch.optim.Muon([layer.weight], lr=0.1)
        layer(torch.ones(3, 6, device=layer.weight.device)).square().sum().backward()
        optimizer.step()
    torch.testing.assert_close(layers[1].weight.cpu(), layers[0].weight)
