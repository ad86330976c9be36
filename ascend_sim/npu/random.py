# SPDX-License-Identifier: MIT
"""Random numbers: one generator a device. A seed gives the same numbers as on the CPU, bit for bit."""

import math

import torch

from ascend_sim import _C, arguments
from ascend_sim.npu.devices import current_device, device_count, index_of


def default_generator(device=None) -> torch.Generator:
    return _C.default_generator(index_of(device))


def manual_seed(seed: int) -> None:
    default_generator().manual_seed(_whole("manual_seed", seed))


def manual_seed_all(seed: int) -> None:
    """Also for devices not used yet; part of torch.manual_seed."""
    _C.manual_seed_all(_whole("manual_seed_all", seed) % 2**64)


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
    if not isinstance(new_state, torch.Tensor) or new_state.dtype != torch.uint8:
        raise TypeError(f"torch.npu.set_rng_state: new_state is {arguments.shown(new_state)}; expected a uint8 tensor, as get_rng_state returns it.")
    default_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states) -> None:
    states = list(arguments.instance("torch.npu.set_rng_state_all", "new_states", new_states, (list, tuple), "a list of states, as get_rng_state_all returns it"))
    if len(states) > device_count():
        raise ValueError(f"torch.npu.set_rng_state_all: new_states has {len(states)} states; expected at most {device_count()}, as many as there are devices.")
    for index, state in enumerate(states):
        set_rng_state(state, index)


def _whole(function: str, seed) -> int:
    """Fractions are cut off, as in torch.cuda."""
    if isinstance(seed, float) and math.isfinite(seed):
        seed = int(seed)
    elif isinstance(seed, bool):
        seed = int(seed)
    return arguments.whole(f"torch.npu.{function}", "seed", seed, -(2**63), 2**64 - 1)
