# SPDX-License-Identifier: MIT
"""NVIDIA's deep_gemm without NVIDIA's library: what DeepGEMM 2.6.1 accepts on SM90 or SM100, its scale layouts and limits, in plain PyTorch.

For porting in either direction: a program that runs here and on the backend `ascend` needs nothing that only one side has. Tensors may be
on cuda, cpu or npu; the computation is done where they are. `use("cuda:sm90")` and `use("cuda:sm100")` choose the architecture, `use("cuda")`
that of the CUDA device, SM100 where there is none.
"""

OPTIONS = ("sm90", "sm100")
_MULTIPROCESSORS = {90: 132, 100: 148}      # as NVIDIA states for the H100 SXM and the B200
DIALECT = "nvidia"          # not measured by what Ascend's library refuses (ascend_sim.parity)


def arch() -> int:
    """90 or 100."""
    import torch

    from ascend_sim import backends
    chosen = backends.option()
    if chosen is not None:
        return int(chosen.removeprefix("sm"))
    return 90 if has_device() and torch.cuda.get_device_capability()[0] < 10 else 100


def has_device() -> bool:
    """Whether there is a real CUDA device. torch.cuda.is_available() may speak of npu (ascend_sim.compat), this does not."""
    import torch
    return getattr(torch._C, "_cuda_getDeviceCount", lambda: 0)() > 0


def multiprocessors() -> int:
    """SMs of the CUDA device, or of an H100 SXM (SM90) or a B200 (SM100) where there is none."""
    import torch
    if has_device():
        return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
    return _MULTIPROCESSORS[arch()]


def availability() -> tuple[bool, str]:
    """Always there; says what it computes on."""
    import torch
    if has_device():
        major, minor = torch.cuda.get_device_capability()
        return True, f"NVIDIA's layouts and limits; tensors on cuda ({torch.cuda.get_device_name()}, {major}.{minor}), cpu or npu"
    return True, "NVIDIA's layouts and limits; no CUDA device here, so tensors on cpu or npu"
