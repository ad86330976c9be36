# SPDX-License-Identifier: MIT
"""npu tensors and several processes or threads of one machine."""

import concurrent.futures
import os
import signal

import torch


def test_a_queue_hands_over_tensors_on_the_same_memory(run_python):
    code = """
import torch
def work(source, target):
    tensor, column, parameter = source.get(timeout=60)
    assert tensor.device == torch.device("npu:1") and column.stride() == (4,) and parameter.requires_grad
    tensor.mul_(2)                          # seen by the sender, and through its view
    column.add_(torch.matmul(torch.ones(3, 3, device="npu:1"), torch.ones(3, device="npu:1")))
    target.put(str(parameter.device))
    source.get(timeout=60)
context = torch.multiprocessing.get_context("fork")
source, target = context.Queue(), context.Queue()
child = context.Process(target=work, args=(source, target))
child.start()                               # before either uses the device
tensor = torch.arange(12.0, device="npu:1").view(3, 4)
other_view = tensor[1]
source.put((tensor, tensor[:, 1], torch.nn.Parameter(torch.ones(2, device="npu:2"))))
assert target.get(timeout=60) == "npu:2"
assert other_view.tolist() == [8, 13, 12, 14] and tensor[0].tolist() == [0, 5, 4, 6]
tensor.zero_()
source.put(None)
child.join(60)
assert child.exitcode == 0
before = torch.npu.memory_allocated(1)
del tensor, other_view
assert torch.npu.memory_allocated(1) < before
assert torch.ones(5000, device="npu:1").sum() == 5000       # the memory is the device's own again
"""
    run_python(code)


def test_what_is_shared_is_a_live_allocation_and_kernels_take_it():
    import deep_gemm
    from ascend_sim import _C

    queue = torch.multiprocessing.get_context("fork").SimpleQueue()
    a, d = torch.ones(64, 64, dtype=torch.bfloat16, device="npu"), torch.zeros(64, 64, device="npu")
    queue.put((a, d))
    b, e = queue.get()
    assert b.data_ptr() != a.data_ptr() and _C.allocation_of(b.data_ptr())[0] == 0
    deep_gemm.bf16_gemm_nt(b, b, e)
    assert bool((d == 64).all())
    del b, e
    assert bool((a == 1).all())


def test_a_process_forked_after_the_first_use_is_told_so(run_python):
    code = """
import os, torch
a, stream = torch.ones(4, device="npu"), torch.npu.Stream()
child = os.fork()
if child == 0:
    assert torch.npu._is_in_bad_fork() and torch.npu.is_available()
    for use in (lambda: a.add_(1), lambda: torch.empty(1, device="npu"), lambda: a.cpu(), lambda: torch.npu.set_device(1),
                lambda: torch.npu.synchronize()):
        try:
            use()
            os._exit(1)
        except RuntimeError as error:
            assert "forked after its parent had used the device" in str(error) and "spawn" in str(error), error
    torch.manual_seed(3)                    # what data loader workers do
    assert torch.ones(3).pin_memory().sum() == 3
    del a
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert a.tolist() == [1, 1, 1, 1]
"""
    run_python(code)


def test_a_process_forked_before_the_first_use_has_devices_of_its_own(run_python):
    code = """
import os, torch, deep_gemm
torch.manual_seed(1)
assert torch.npu.device_count() == 8        # asking is not using
def product():
    a, d = torch.ones(64, 64, dtype=torch.bfloat16, device="npu"), torch.empty(64, 64, device="npu")
    deep_gemm.bf16_gemm_nt(a, a, d)
    return bool((d == 64).all())
child = os.fork()
if child == 0:
    os._exit(0 if product() else 1)
assert os.waitpid(child, 0)[1] == 0 and product()
"""
    run_python(code)


def test_data_loader_workers_feed_the_device():
    """Their processes are forked after its use, and touch only CPU tensors."""
    torch.ones(1, device="npu")
    loader = torch.utils.data.DataLoader(torch.arange(8), batch_size=4, num_workers=1, pin_memory=True)
    assert [batch.npu().sum().item() for batch in loader] == [6, 22]


def test_a_process_killed_in_a_kernel_leaves_nothing_behind(run_python, tmp_path):
    """No shared memory, semaphore or temporary file."""
    code = """
import os, signal, tempfile, threading, time, torch, deep_gemm
a, d = torch.ones(1024, 4096, dtype=torch.bfloat16, device="npu"), torch.empty(1024, 1024, dtype=torch.bfloat16, device="npu")
deep_gemm.bf16_gemm_nt(a, a, d)
print("running", flush=True)
threading.Thread(target=lambda: (time.sleep(0.2), os.kill(os.getpid(), signal.SIGKILL))).start()
while True:
    deep_gemm.bf16_gemm_nt(a, a, d)
"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    shared_before = set(os.listdir("/dev/shm"))
    done = run_python(code, check=False, TMPDIR=str(temporary), HOME=str(temporary), ASCEND_SIM_CACHE_DIR=str(temporary / "cache"))
    assert done.returncode == -signal.SIGKILL and done.stdout == "running\n"
    assert list(temporary.rglob("*")) == []
    assert {name for name in set(os.listdir("/dev/shm")) - shared_before if "ascend" in name or name.startswith("sem.")} == set()


def test_eight_threads_on_eight_devices_give_the_bits_of_one():
    import deep_gemm

    def product(device):
        generator = torch.Generator().manual_seed(4)
        a, b = (torch.randn(rows, 512, generator=generator).bfloat16().to(device) for rows in (256, 192))
        d = torch.empty(256, 192, dtype=torch.bfloat16, device=device)
        results = []
        for _ in range(3):
            deep_gemm.bf16_gemm_nt(a, b, d)
            results.append((d.softmax(-1) @ b).cpu())
        return torch.stack(results)

    expected = product("npu:0")
    assert torch.equal(expected[0], expected[2])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for result in pool.map(product, [f"npu:{index}" for index in range(8)]):
            assert torch.equal(result, expected)


def test_every_shape_and_type_can_be_sent():
    queue = torch.multiprocessing.get_context("fork").SimpleQueue()
    for sent in (torch.empty(0, 3, device="npu"), torch.tensor(2.5, dtype=torch.bfloat16, device="npu"),
                 torch.arange(6, device="npu").view(2, 3).t(), torch.ones(4, device="npu").to(torch.float8_e4m3fn)):
        queue.put(sent)
        received = queue.get()
        assert (received.dtype, received.shape, received.device) == (sent.dtype, sent.shape, sent.device)
        assert torch.equal(received.float().cpu(), sent.float().cpu())


def test_cpu_tensors_are_shared_as_before():
    tensor = torch.zeros(3).share_memory_()
    context = torch.multiprocessing.get_context("fork")
    child = context.Process(target=tensor.fill_, args=(7,))
    child.start()
    child.join(60)
    assert tensor.tolist() == [7, 7, 7]
