# SPDX-License-Identifier: MIT
"""The unmodified tile-kernels 2.1.0 wheel, through its public functions, on the emulated chip.

Its `torch` module is the reference that its authors compare with; criteria are theirs. Cases are few, because each setting is a
kernel that TileLang lowers for 2 to 40 seconds: always tested is each branch of a family, and of its authors' grid of sizes the ends and an odd one;
the rest of that grid is marked slow. A family that the wheel has and no test here calls is found by test_families.py.
"""

import importlib.util

import pytest
import torch


@pytest.fixture(scope="session")
def tk(tilelang):
    if importlib.util.find_spec("tile_kernels") is None:
        pytest.skip("tile-kernels 2.1.0 is not installed: pip install --no-deps --ignore-requires-python tile-kernels==2.1.0")
    import tile_kernels
    return tile_kernels


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def equal():
    """Bytes, dtype, shape and strides."""
    def compare(got, want):
        assert got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride(), (got.dtype, want.dtype, got.shape, want.shape)
        a, b = got.cpu().contiguous(), want.cpu().contiguous()
        assert torch.equal(a.view(torch.uint8), b.view(torch.uint8)) if a.dtype.itemsize == 1 else torch.equal(a, b)
    return compare
