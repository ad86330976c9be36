# SPDX-License-Identifier: MIT
"""How npu becomes a device of PyTorch: loads the native part, takes the PrivateUse1 slot, and says where settings come from."""

import sys

import torch
import torch.utils.checkpoint

NAME = "npu"
_FREE = "privateuseone"


def load_native():
    """ascend_sim._C. Its operators register themselves for PrivateUse1, hence the look at the owner of that slot first."""
    owner = torch._C._get_privateuse1_backend_name()
    if owner not in (_FREE, NAME) or (owner == NAME and "ascend_sim._C" not in sys.modules):
        raise ImportError(f"ascend_sim.npu: another package has registered the device {owner!r} with PyTorch, which has room for "
                          "one such device; the two cannot be used in one process.")
    from ascend_sim import _C
    return _C


def register(module_name: str) -> None:
    """Names the device, makes `module_name` torch.npu, adds Tensor.npu() and the like. Doing it twice is harmless."""
    if torch._C._get_privateuse1_backend_name() == NAME:
        return
    from ascend_sim import _C
    from ascend_sim.npu import data_parallel, distributed, dlpack, dynamo, multiprocessing
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, sys.modules[module_name])
    for name in sys.modules[module_name].SUBMODULES:        # else a second copy would be imported under that name
        sys.modules[f"torch.{NAME}.{name}"] = sys.modules[f"{module_name}.{name}"]
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_packed_sequence=True,
                                                         for_storage=True)
    if not torch.cuda.is_available():
        # Whose random state activation checkpointing keeps when no tensor tells.
        torch.utils.checkpoint.DefaultDeviceType.set_device_type(NAME)
    _C.set_configuration_source(configure)
    data_parallel.install()
    dlpack.patch()
    multiprocessing.install()
    distributed.install()
    dynamo.install()
    _start_trace()


def _start_trace() -> None:
    """ASCEND_SIM_TRACE: launches of this process, and of those forked from it, leave a record in that folder. Never ends."""
    from ascend_sim import _C, config
    folder, timeline = config.trace()
    if folder is not None:
        _C.profile_begin_log(str(folder), timeline)


def chip():
    """The description of the emulated chip, ASCEND_SIM_CHIP."""
    from ascend_sim import chips
    return chips.chosen()


def configure() -> None:
    """Called by the native part when a device is first needed. A wrong setting raises here, at that use."""
    from ascend_sim import _C, config, modes
    config.check()
    emulated = chip()
    _C.set_chip(emulated.name, emulated.flat())
    _C.set_core_count(int(emulated["cores.ai_cores"]))
    _C.set_estimate_rates(**_estimate_rates(emulated))
    _C.set_threads(config.threads())
    _C.set_launch_timeout(config.launch_timeout_s())
    _C.set_division_check(config.checks().division)
    _C.set_race_check(config.checks().races)
    if config.host_isa() != "auto":
        try:
            _C.set_host_isa(config.host_isa())
        except ValueError as error:
            raise ValueError(f"ASCEND_SIM_HOST_ISA={config.host_isa()!r} cannot be used: {error}, auto.") from None
    _C.set_mode(modes.get())             # ascend_sim.mode may have been called before any device was used
    _C.configure(len(config.devices()), config.hbm_bytes() or emulated.hbm_bytes)


def _estimate_rates(emulated) -> dict[str, float]:
    """What operators are charged that run on the host, per simulated microsecond."""
    multiply_adds_per_us = emulated["cores.ai_cores"] * emulated["clock.frequency"] / 1e6
    return {
        "launch_us": emulated["launch.blocks_32"],
        "hbm_bytes_per_us": emulated["hbm.bandwidth"] / 1e6,
        "b16_flops_per_us": 2 * multiply_adds_per_us * emulated["cube.macs.bf16"],
        "b8_flops_per_us": 2 * multiply_adds_per_us * emulated["cube.macs.e4m3"],
        "fp32_flops_per_us": 2 * multiply_adds_per_us * emulated["cube.macs.f32"],
    }
