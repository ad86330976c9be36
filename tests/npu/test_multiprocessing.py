# SPDX-License-Identifier: MIT
"""npu tensors between processes of one machine."""

import torch


def _double(source, target):
    tensor, parameter = source.get(timeout=60)
    target.put((tensor * 2, parameter.requires_grad, str(parameter.device)))


def test_a_queue_hands_tensors_over_by_value():
    context = torch.multiprocessing.get_context("fork")
    source, target = context.Queue(), context.Queue()
    child = context.Process(target=_double, args=(source, target))
    child.start()
    tensor = torch.arange(3, device="npu:1")
    source.put((tensor, torch.nn.Parameter(torch.ones(2, device="npu:2"))))
    doubled, requires_grad, device = target.get(timeout=60)
    child.join(60)
    assert doubled.tolist() == [0, 2, 4] and doubled.device == torch.device("npu:1")
    assert requires_grad and device == "npu:2"
    assert tensor.tolist() == [0, 1, 2]


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
