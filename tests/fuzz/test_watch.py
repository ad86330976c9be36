# SPDX-License-Identifier: MIT
"""Does the watch over made-up calls notice what it is there for?"""

import pytest
import torch

pytest.importorskip("ascend_sim._C")

from fuzz import calls  # noqa: E402


class Made:
    """A call with a hole in d's rows."""

    def __init__(self):
        self.function, self.keywords = "bf16_gemm_nt", {}
        self.a = torch.ones(3, 4).npu()
        self.memory = torch.zeros(5, 8).npu()
        self.d = self.memory[:3, :6]


def written(watched, write):
    call = Made()           # not a fixture's: it would live on
    watched.made(call)
    write(call)
    watched.settle()


def test_writing_d_is_fine(watched):
    written(watched, lambda call: call.d.fill_(1))
    assert not watched.faults


@pytest.mark.parametrize("write", [lambda call: call.a.fill_(2), lambda call: call.memory[1, 6:7].fill_(2), lambda call: call.memory[3, 0:1].fill_(2)],
                         ids=["a", "behind a row of d", "behind d"])
def test_writing_anything_else_is_noticed(watched, write):
    written(watched, write)
    assert len(watched.faults) == 1 and "wrote outside d" in watched.faults.pop()


def test_a_kept_tensor_is_noticed(watched):
    kept = torch.ones(10).npu()
    with pytest.raises(AssertionError, match="512 bytes of HBM are still allocated"):
        watched.finish()
    del kept


def test_every_call_is_seen(watched):
    calls.make(1, "cpu")
    calls.make(2, "npu")
    assert watched.count == 2
