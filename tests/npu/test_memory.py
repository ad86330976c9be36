# SPDX-License-Identifier: MIT
"""Where npu tensors live, how they are counted, and what happens when memory runs out."""

import gc
import os
import threading

import numpy
import pytest
import torch

from ascend_sim import _C

MIB = 2**20


@pytest.fixture
def device():
    """A device that no other test allocates on, so that figures are exact."""
    gc.collect()
    with torch.npu.device(7):
        torch.npu.empty_cache()
        torch.npu.reset_peak_memory_stats()
        assert torch.npu.memory_allocated() == 0
        yield "npu:7"


def test_tensors_are_counted_in_blocks_of_512_bytes(device):
    a = torch.empty(1, device=device)
    assert torch.npu.memory_allocated(device) == 512
    b = torch.empty(4 * MIB, dtype=torch.uint8, device=device)
    assert torch.npu.memory_allocated(device) == 512 + 4 * MIB
    del a, b
    assert torch.npu.memory_allocated(device) == 0
    assert torch.npu.max_memory_allocated(device) == 512 + 4 * MIB


def test_results_of_operators_that_run_on_the_cpu_are_counted_and_aligned(device):
    a = torch.ones(MIB, device=device)
    b = torch.hypot(a, a)
    c = torch.nonzero(a)
    assert torch.npu.memory_allocated(device) == a.nbytes + b.nbytes + c.nbytes
    assert all(t.data_ptr() % 512 == 0 for t in (a, b, c))
    assert all(_C.allocation_of(t.data_ptr()) == (7, t.data_ptr(), t.data_ptr() + t.nbytes) for t in (a, b, c))


def test_an_address_is_found_while_its_tensor_lives(device):
    a = torch.empty(100, dtype=torch.uint8, device=device)
    address = a.data_ptr()
    assert _C.allocation_of(address + 99) == (7, address, address + 100)
    assert _C.allocation_of(address + 100) is None          # the padding up to 512 belongs to nobody
    del a
    assert _C.allocation_of(address) is None
    assert _C.allocation_of(torch.empty(10).data_ptr()) is None


def test_views_share_memory_and_copies_to_the_cpu_do_not(device):
    a = torch.zeros(8, device=device)
    a[2:4].view(2, 1).fill_(1)
    on_cpu = a.cpu()
    a.fill_(5)
    assert on_cpu.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert on_cpu.data_ptr() != a.data_ptr()


def test_numpy_is_refused_as_on_a_real_device(device):
    with pytest.raises(TypeError, match="npu"):
        torch.ones(2, device=device).numpy()


def test_mem_get_info_speaks_of_the_emulated_memory(device):
    free, total = torch.npu.mem_get_info(device)
    assert total == 144_000_000_000
    a = torch.empty(64 * MIB, dtype=torch.uint8, device=device)
    assert torch.npu.mem_get_info(device) == (free - a.nbytes, total)
    assert torch.accelerator.get_memory_info(7) == torch.npu.mem_get_info(device)


def test_freed_memory_is_kept_until_the_cache_is_emptied(device):
    a = torch.empty(64 * MIB, dtype=torch.uint8, device=device)
    del a
    assert torch.npu.memory_allocated(device) == 0
    assert torch.npu.memory_reserved(device) == 64 * MIB
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved(device) == 0
    assert torch.npu.max_memory_reserved(device) == 64 * MIB
    torch.npu.reset_peak_memory_stats(device)
    assert torch.npu.max_memory_reserved(device) == 0


def test_more_than_the_device_has_is_out_of_memory_and_says_so(device):
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 186\.\d+ GiB\. NPU 7 has a total capacity of 134\.\d+ GiB "
                                                     r"of which .* is free.*limit that was hit: emulated HBM capacity"):
        torch.empty(200_000_000_000, dtype=torch.uint8, device=device)
    assert torch.npu.memory_stats(device)["num_ooms"] >= 1
    torch.empty(10, device=device)          # goes on working


def test_more_than_the_host_has_is_out_of_memory_and_says_so(device):
    with open("/proc/meminfo") as file:
        host_bytes = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemTotal"))
    if host_bytes >= 140_000_000_000:
        pytest.skip("this machine has more memory than the emulated device")
    with pytest.raises(torch.OutOfMemoryError, match="limit that was hit: memory of this machine"):
        torch.empty(host_bytes, dtype=torch.uint8, device=device)


def test_many_allocations_that_are_never_touched_cannot_exceed_the_host_either(device):
    held = []
    with pytest.raises(torch.OutOfMemoryError):
        for _ in range(2000):
            held.append(torch.empty(2**30, dtype=torch.uint8, device=device))


def test_a_fraction_limits_the_process(device):
    torch.npu.set_per_process_memory_fraction(0.001, device)
    try:
        assert torch.npu.get_per_process_memory_fraction(device) == pytest.approx(0.001)
        with pytest.raises(torch.OutOfMemoryError, match="this process may use"):
            torch.empty(200 * MIB, dtype=torch.uint8, device=device)
    finally:
        torch.npu.set_per_process_memory_fraction(1.0, device)
    torch.empty(200 * MIB, dtype=torch.uint8, device=device)


def test_the_emulated_size_comes_from_the_environment(run_python):
    code = """
import torch
print(torch.npu.mem_get_info()[1])
try:
    torch.empty(2**28, device="npu")
except torch.OutOfMemoryError as error:
    print("ASCEND_SIM_HBM_GB" in str(error))
"""
    assert run_python(code, ASCEND_SIM_HBM_GB="0.5").stdout.split() == [str(2**29), "True"]


def test_out_of_memory_inside_an_operator_is_the_same_error(device):
    torch.npu.set_per_process_memory_fraction(0.001, device)
    try:
        a = torch.ones(16 * MIB, device=device)             # 64 MiB of 137
        with pytest.raises(torch.OutOfMemoryError):
            torch.cat([a, a])
    finally:
        torch.npu.set_per_process_memory_fraction(1.0, device)


def test_freed_neighbours_merge_so_that_a_larger_tensor_fits(device):
    parts = [torch.empty(MIB, dtype=torch.uint8, device=device) for _ in range(8)]
    first = parts[0].data_ptr()
    parts.clear()
    assert torch.empty(8 * MIB, dtype=torch.uint8, device=device).data_ptr() == first


def test_many_threads_allocate_and_free_at_once(device):
    errors = []

    def work(seed):
        random = torch.Generator().manual_seed(seed)
        held = []
        for _ in range(300):
            size = int(torch.randint(1, 200_000, (), generator=random))
            t = torch.full((size,), seed, dtype=torch.int32, device=device)
            held.append(t)
            if len(held) > 10 and not bool((held.pop(0) == seed).all()):
                errors.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert torch.npu.memory_allocated(device) == 0


def test_resize_keeps_the_elements_that_fit(device):
    a = torch.arange(6, device=device)
    a.resize_(10)
    assert a[:6].tolist() == list(range(6))
    a.resize_(2, 2)
    assert a.tolist() == [[0, 1], [2, 3]]


def test_a_storage_can_be_emptied_and_filled_again(device):
    """What FSDP does to parameters between uses."""
    a = torch.ones(MIB, device=device)
    a.untyped_storage().resize_(0)
    assert torch.npu.memory_allocated(device) == 0
    a.untyped_storage().resize_(4 * MIB)
    assert bool((a.fill_(2) == 2).all())


def test_set_takes_another_tensors_storage(device):
    a, b = torch.zeros(4, device=device), torch.arange(6.0, device=device)
    a.set_(b)
    b[0] = 9
    assert a.tolist() == [9, 1, 2, 3, 4, 5]
    a.set_(b.untyped_storage(), 2, (2, 2), (1, 2))
    assert a.tolist() == [[2, 4], [3, 5]]
    a.set_()
    assert a.numel() == 0 and a.device == torch.device(device)


def test_pinned_memory_is_pinned_and_ordinary_memory_is_not():
    assert torch.ones(3).pin_memory().is_pinned()
    assert torch.empty(3, pin_memory=True)[1:].is_pinned()
    assert not torch.ones(3).is_pinned()
    with pytest.raises(RuntimeError, match="only CPU tensors can be pinned"):
        torch.empty(3, device="npu", pin_memory=True)
    assert torch.ones(3).pin_memory().npu(non_blocking=True).tolist() == [1, 1, 1]


def test_the_host_cache_can_be_emptied_while_npu_tensors_live():
    keep = torch.empty(3, device="npu")
    torch.accelerator.empty_host_cache()
    torch.npu.host_empty_cache()
    assert keep.numel() == 3


def test_statistics_are_there_in_every_form(device):
    keep = torch.empty(1000, device=device)
    assert torch.npu.memory_stats(device)["allocated_bytes.all.current"] == 4096
    assert torch.npu.memory_stats_as_nested_dict(device)["allocated_bytes"]["all"]["current"] == 4096
    assert torch.npu.memory_cached is torch.npu.memory_reserved
    assert "npu:7" in torch.npu.memory_summary(device)
    segment = next(s for s in torch.npu.memory_snapshot() if s["device"] == 7)
    assert keep.data_ptr() in [b["address"] for b in segment["blocks"] if b["state"] == "active_allocated"]


def test_raw_memory_can_be_allocated_and_given_back(device):
    address = torch.npu.caching_allocator_alloc(1024, device)
    assert _C.allocation_of(address) == (7, address, address + 1024)
    torch.npu.caching_allocator_delete(address)
    assert _C.allocation_of(address) is None


def test_uninitialised_memory_is_nan_under_deterministic_algorithms(device):
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(5, device=device).isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_training_step_that_is_dropped_gives_its_memory_back(device):
    """Weights, activations, gradients, optimizer state, workspaces of recurrent layers and convolutions."""
    def step():
        lstm, convolution = torch.nn.LSTM(8, 8).to(device), torch.nn.Conv1d(8, 4, 3).to(device)
        optimizer = torch.optim.AdamW([*lstm.parameters(), *convolution.parameters()], fused=True)
        with torch.autocast("npu", dtype=torch.bfloat16):
            loss = convolution(lstm(torch.randn(5, 2, 8, device=device))[0].permute(1, 2, 0)).float().square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(lstm.parameters(), 1.0)
        optimizer.step()
        assert torch.npu.memory_allocated(device) > 0

    for _ in range(2):
        step()
        gc.collect()
        assert torch.npu.memory_allocated(device) == 0


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_flushing_the_l2_takes_no_host_memory(device):
    before, allocated = resident_bytes(), torch.npu.max_memory_allocated(device)
    _C.flush_l2(7)
    assert torch.npu.max_memory_allocated(device) == allocated
    # What benchmarks written for other devices do instead: they clear something larger than the cache.
    cache = torch.empty(2**30, dtype=torch.uint8, device=device)
    cache.zero_()
    torch.zeros(2**30, dtype=torch.uint8, device=device)
    assert resident_bytes() - before < 32 * MIB


def test_large_tensors_are_really_zeroed_and_neighbours_are_not(device):
    def ones():
        return numpy.count_nonzero(whole.cpu().numpy())

    whole = torch.ones(130 * MIB + 3000, dtype=torch.uint8, device=device)
    whole[1000:-1000].zero_()
    assert whole[:1000].all() and whole[-1000:].all() and ones() == 2000
    whole.view(torch.float16)[::2].zero_()
    assert ones() == 1000


def test_clearing_more_than_the_l2_holds_flushes_it():
    import ascend_sim
    import deep_gemm

    a, d = torch.ones(256, 1024, dtype=torch.bfloat16, device="npu"), torch.empty(256, 256, dtype=torch.bfloat16, device="npu")
    cache = torch.empty(130 * MIB, dtype=torch.uint8, device="npu")

    def read_from_hbm(prepare):
        deep_gemm.bf16_gemm_nt(a, a, d)
        prepare()
        with ascend_sim.profile(timeline=False) as profile:
            deep_gemm.bf16_gemm_nt(a, a, d)
        return profile.records[0].hbm_read_bytes

    warm = read_from_hbm(lambda: None)
    assert warm < a.nbytes <= read_from_hbm(cache.zero_) == read_from_hbm(lambda: _C.flush_l2(0))
