# SPDX-License-Identifier: MIT
"""Random numbers: one generator a device. A seed gives the same numbers as on the CPU, bit for bit."""

import torch

from ascend_sim import _C
from ascend_sim.npu.devices import current_device, device_count, index_of


def default_generator(device=None) -> torch.Generator:
    return _C.default_generator(index_of(device))


def manual_seed(seed: int) -> None:
    default_generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Also for devices not used yet; part of torch.manual_seed."""
    _C.manual_seed_all(int(seed) % 2**64)


def seed() -> None:
    default_generator().seed()


def seed_all() -> None:
    """One random seed for every device."""
    manual_seed_all(default_generator(0).seed())


def initial_seed() -> int:
    return default_generator(current_device()).initial_seed()


def get_rng_state(device="npu") -> torch.Tensor:
    return default_generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device="npu") -> None:
    default_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
