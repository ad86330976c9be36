# SPDX-License-Identifier: MIT
"""Memory closer to some cores than to others: the Ascend 950 has one such domain, so nothing here does anything."""

__all__ = ["get_num_locality_domains", "is_localization_available", "localize", "is_localized", "destroy_localizer"]


def get_num_locality_domains() -> int:
    """1."""
    return 1


def is_localization_available() -> bool:
    """False."""
    return False


def is_localized(tensor) -> bool:
    """False."""
    return False


def localize(tensor, dim: int = -2):
    """The tensor itself."""
    return tensor


def destroy_localizer() -> None:
    """Nothing to destroy."""
