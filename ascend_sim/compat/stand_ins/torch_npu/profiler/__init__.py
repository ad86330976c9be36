# SPDX-License-Identifier: MIT
"""torch_npu.profiler: torch.profiler under the names of torch_npu. Kernels of npu appear with their simulated time.

Options of the real profiler (levels, metrics, export formats) are accepted and have no effect, but for data_simplification: ascend_sim.profile() shows what
pipes did.
"""

import enum
import shutil
import tempfile
import weakref
from pathlib import Path
from types import SimpleNamespace

import torch
from torch.profiler import ProfilerAction, ProfilerActivity, schedule

import ascend_sim
from torch_npu.profiler import _raw_files

__all__ = ["AiCMetrics", "ExportType", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "profile", "schedule", "supported_activities",
           "tensorboard_trace_handler"]


class ProfilerLevel(enum.Enum):
    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(enum.Enum):
    AiCoreNone = "ACL_AICORE_NONE"
    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"


class ExportType(enum.Enum):
    Text = "text"
    Db = "db"


class _ExperimentalConfig:
    """Options of the real profiler, kept under their names. data_simplification=False: raw files are kept (profile.prof_if); the others have no effect."""

    def __init__(self, **options):
        self.__dict__.update(options)


def supported_activities() -> set:
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


class profile(torch.profiler.profile):
    """torch.profiler.profile; without `activities`, of CPU and NPU."""

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None, use_cuda=None, **others):
        super().__init__(activities=list(activities) if activities is not None else [ProfilerActivity.CPU, ProfilerActivity.NPU],
                         schedule=schedule, on_trace_ready=on_trace_ready, record_shapes=record_shapes, profile_memory=profile_memory,
                         with_stack=with_stack, with_flops=with_flops, with_modules=with_modules)

        self._launches = ascend_sim.profile(timeline=False) if getattr(experimental_config, "data_simplification", True) is False else None
        self._raw_folder = None

    def start(self):
        super().start()
        if self._launches is not None:
            self._launches.__enter__()

    def stop(self):
        if self._launches is not None:
            self._launches.__exit__()
        super().stop()

    @property
    def prof_if(self):
        """prof_path: a folder with the raw files that TileLang reads, which lives as long as this object. Needs
        experimental_config=_ExperimentalConfig(data_simplification=False)."""
        if self._launches is None:
            raise NotImplementedError("torch_npu.profiler.profile.prof_if: raw files are kept only with experimental_config=_ExperimentalConfig("
                                      "data_simplification=False); ascend_sim.profile() and export_chrome_trace() have the figures of kernels, too.")
        if self._raw_folder is None:
            self._raw_folder = tempfile.mkdtemp(prefix="ascend_sim_prof_")
            weakref.finalize(self, shutil.rmtree, self._raw_folder, ignore_errors=True)
            _raw_files.write(Path(self._raw_folder), self._launches.records)
        return SimpleNamespace(prof_path=self._raw_folder)


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False):
    """For on_trace_ready: writes a Chrome trace into a folder."""
    return torch.profiler.tensorboard_trace_handler(dir_name, worker_name)
