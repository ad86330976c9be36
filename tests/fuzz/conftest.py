# SPDX-License-Identifier: MIT
"""What every made-up call is watched for besides its result: inputs and what lies around d keep their bytes, and no memory is lost."""

import gc
import importlib.util
import os
from dataclasses import dataclass

import pytest
import torch
from fuzz import calls

_WARM_UP = 1000                 # calls after which caches are full
_RSS_GROWTH_BYTES = 64 << 20    # of all further calls together: less than 10 KB a call of 10 000
_WRITES_C = ("aclnn_bf16", "cublaslt")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """All of the memory that the tensor is a view of."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage()).cpu().clone()


@dataclass
class Memory:
    """One allocation of a call, as it was, and the views of it that the call may write."""

    tensor: torch.Tensor
    before: torch.Tensor
    writable: list[torch.Tensor]

    def is_kept(self) -> bool:
        after = bytes_of(self.tensor)
        for view in self.writable:
            old, new = (whole.view(view.dtype).as_strided(view.shape, view.stride(), view.storage_offset()) for whole in (self.before, after))
            old.copy_(new)
        return torch.equal(self.before, after)


class Watch:
    def __init__(self):
        self.faults, self.count = [], 0
        self._name, self._memories, self._rss = "", [], 0
        gc.collect()  # what tests before have dropped
        self._hbm = torch.npu.memory_allocated()

    def made(self, call: calls.Call) -> None:
        self.settle()
        self.count += 1
        if self.count == _WARM_UP:
            self._rss = self._resident_bytes()
        tensors = list(tensors_in(list(vars(call).values())))
        writable = [call.d] if isinstance(call.d, torch.Tensor) else []
        if call.function.startswith(_WRITES_C):
            writable += [tensor for tensor in tensors_in(call.keywords.get("c"))]
        self._name = str(call)
        self._memories = []
        for address in {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}:
            views = [tensor for tensor in tensors if tensor.untyped_storage().data_ptr() == address]
            mine = [view for view in writable if view.untyped_storage().data_ptr() == address]
            self._memories.append(Memory(views[0], bytes_of(views[0]), mine))

    def settle(self) -> None:
        """The call is over."""
        if not all(memory.is_kept() for memory in self._memories) and len(self.faults) < 10:
            self.faults.append(f"{self._name}: wrote outside d")
        self._memories = []

    def finish(self) -> None:
        self.settle()
        assert not self.faults, "\n".join(self.faults)
        gc.collect()
        lost = torch.npu.memory_allocated() - self._hbm
        assert lost <= 0, f"{lost} bytes of HBM are still allocated after {self.count} calls"
        if self.count >= 2 * _WARM_UP and "ASAN_OPTIONS" not in os.environ:     # its quarantine grows; LeakSanitizer looks then
            grown = self._resident_bytes() - self._rss
            assert grown < _RSS_GROWTH_BYTES, f"the process grew by {grown} bytes in {self.count - _WARM_UP} calls"

    def _resident_bytes(self) -> int:
        gc.collect()
        torch.npu.empty_cache()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    """Sees each call that `calls.make` makes, when it is made and when the next one is."""
    if importlib.util.find_spec("ascend_sim._C") is None:
        yield
        return
    watch, make = Watch(), calls.make

    def make_and_watch(*arguments, **keywords):
        call = make(*arguments, **keywords)
        watch.made(call)
        return call
    monkeypatch.setattr(calls, "make", make_and_watch)
    yield watch
    watch.finish()
