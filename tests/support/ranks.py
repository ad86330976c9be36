# SPDX-License-Identifier: MIT
"""Runs a function as several ranks of torch.distributed: one new process imports everything once and forks the ranks before the device is used."""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path


def run_ranks(function: Callable[[int, int], None], world: int, backend: str = "cpu:gloo,npu:hccl", timeout_s: int = 100) -> None:
    """Calls `function(rank, world)`, a top-level function of a test file, in `world` processes that are one process group of `backend`.

    npu:rank is current in each. An exception in any rank fails the test and shows that rank's traceback."""
    import ascend_sim
    root = Path(ascend_sim.__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(Path(__file__).parents[1])]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-P", __file__, function.__code__.co_filename, function.__name__, str(world), backend],
                          env=environment, capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


def _main(file: str, name: str, world: int, backend: str) -> int:
    import importlib.util
    import tempfile

    import torch
    if not hasattr(torch, "npu"):
        from ascend_sim import _autoload
        _autoload.autoload()
    spec = importlib.util.spec_from_file_location("test_file_of_ranks", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                os._exit(_rank(getattr(module, name), rank, world, backend, f"{folder}/store"))
            children.append(child)
        return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)


def _rank(function, rank: int, world: int, backend: str, store: str) -> int:
    import datetime

    import torch
    try:
        torch.npu.set_device(rank)
        torch.distributed.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=world,
                                             timeout=datetime.timedelta(seconds=60))
        function(rank, world)
        torch.distributed.destroy_process_group()
        return 0
    except BaseException:
        print(f"rank {rank}:", traceback.format_exc(), file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
