# SPDX-License-Identifier: MIT
"""How do the host tests call libascend_sim.so? ctypes over csrc/host/c_api.cpp, one fixture value per level."""

import ctypes
import importlib.util
import os
import pathlib
import platform

import numpy as np
import pytest

LEVELS = ["portable", "neon"] if platform.machine() == "aarch64" else ["portable", "avx2", "avx512", "amx"]
TYPES = ["bf16", "f16", "f32", "hf32", "e4m3", "e5m2", "hif8", "s8", "e2m1", "e1m2", "s32"]


def library_path():
    """The built library: of the installed package, or the one that ASCEND_SIM_TEST_LIBRARY names."""
    if path := os.environ.get("ASCEND_SIM_TEST_LIBRARY"):
        return pathlib.Path(path)
    package = importlib.util.find_spec("ascend_sim")
    return pathlib.Path(package.submodule_search_locations[0]) / "lib" / "libascend_sim.so"


class Host:
    """One host level. Arrays go in and out as numpy arrays; pointers never leave this class."""

    def __init__(self, library, level):
        self.library, self.level = library, level

    def select(self):
        reason = ctypes.create_string_buffer(300)
        assert self.library.ascend_host_set_level(self.level.encode(), reason, 300), reason.value

    def mmad(self, a, b, c, m, n, k, a_type, b_type=None, a_scale=None, b_scale=None, init=True, bias=None, hf32_away=False):
        self.library.ascend_host_mmad(
            _pointer(a), _pointer(b), _pointer(c), m, n, k, TYPES.index(a_type), TYPES.index(b_type or a_type),
            _pointer(a_scale), _pointer(b_scale), int(init), _pointer(bias), int(hf32_away))

    def nd2nz(self, dst, src, rows, row_bytes, src_row_stride_bytes, n_stride, c0_stride):
        self.library.ascend_host_nd2nz(_pointer(dst), _pointer(src), rows, row_bytes, *map(
            ctypes.c_int64, (src_row_stride_bytes, n_stride, c0_stride)))

    def dn2nz(self, dst, src, rows, columns, element_bytes, src_column_stride_bytes, n_stride, c0_stride):
        self.library.ascend_host_dn2nz(_pointer(dst), _pointer(src), rows, columns, element_bytes, *map(
            ctypes.c_int64, (src_column_stride_bytes, n_stride, c0_stride)))

    def transpose(self, dst, dst_stride_bytes, src, src_stride_bytes, element_bytes):
        self.library.ascend_host_transpose(_pointer(dst), ctypes.c_int64(dst_stride_bytes), _pointer(src),
                                           ctypes.c_int64(src_stride_bytes), element_bytes)

    def nz2nd(self, dst, dst_row_stride_bytes, src, column_block_stride, m, n, dst_type, scale=1.0, scales=None, relu=False,
              add=False):
        self.library.ascend_host_nz2nd(
            _pointer(dst), ctypes.c_int64(dst_row_stride_bytes), _pointer(src), ctypes.c_int64(column_block_stride), m, n,
            TYPES.index(dst_type), ctypes.c_float(scale), _pointer(scales), int(relu), int(add))


def _pointer(array):
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture(scope="session")
def library():
    library = ctypes.CDLL(str(library_path()))
    library.ascend_host_level.restype = ctypes.c_char_p
    return library


@pytest.fixture(params=LEVELS)
def host(request, library):
    """Every level that this machine has; the default level comes back afterwards."""
    if not library.ascend_host_has_level(request.param.encode()):
        pytest.skip(f"this machine has no host level {request.param}")
    before = library.ascend_host_level()
    selected = Host(library, request.param)
    selected.select()
    assert library.ascend_host_level().decode() == request.param
    yield selected
    library.ascend_host_set_level(before, None, 0)


@pytest.fixture
def rng(request):
    return np.random.default_rng(sum(request.node.name.encode()))
