# SPDX-License-Identifier: MIT
"""Do the layout copies of csrc/host/copy.h put every element in its place, at every host level, and touch nothing else?"""

import ml_dtypes
import numpy as np
import pytest

from host.layouts import ceil_div

MARK = 0xA5  # what destination bytes hold before; a byte that should not be written must still hold it


@pytest.mark.parametrize("rows, row_bytes", [(1, 1), (1, 32), (2, 33), (3, 64), (16, 31), (17, 100), (64, 256), (255, 200), (0, 64), (5, 0)])
@pytest.mark.parametrize("n_stride, gap", [(1, 0), (1, 3), (2, 1), (5, 0)])
def test_nd2nz_places_every_unit_and_zero_fills_the_last(host, rng, rows, row_bytes, n_stride, gap):
    row_stride = row_bytes + 7
    c0_stride = rows * n_stride + gap
    units = ceil_div(row_bytes, 32)
    source = rng.integers(0, 256, rows * row_stride + 1).astype(np.uint8)
    dst = np.full(max(1, units * c0_stride + rows * n_stride) * 32, MARK, np.uint8)
    expected = dst.copy().reshape(-1, 32)
    for r in range(rows):
        row = np.zeros(units * 32, np.uint8)
        row[:row_bytes] = source[r * row_stride:r * row_stride + row_bytes]
        for u in range(units):
            expected[u * c0_stride + r * n_stride] = row[u * 32:u * 32 + 32]
    host.nd2nz(dst, source, rows, row_bytes, row_stride, n_stride, c0_stride)
    assert np.array_equal(dst, expected.ravel())


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("rows, columns", [(1, 1), (16, 16), (17, 15), (32, 32), (33, 70), (64, 31), (100, 64)])
@pytest.mark.parametrize("n_stride", [1, 2])
def test_dn2nz_equals_nd2nz_of_the_transposed_matrix(host, rng, element_bytes, rows, columns, n_stride):
    dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32}[element_bytes]
    stored = rng.integers(0, 2 ** (8 * element_bytes), (columns, rows + 3)).astype(dtype)  # column-major, with a gap
    units = ceil_div(columns * element_bytes, 32)
    c0_stride = rows * n_stride
    by_rows = np.ascontiguousarray(stored[:, :rows].T)
    got, expected = (np.full(units * c0_stride * 32, MARK, np.uint8) for _ in range(2))
    host.dn2nz(got, stored, rows, columns, element_bytes, stored.shape[1] * element_bytes, n_stride, c0_stride)
    host.nd2nz(expected, by_rows, rows, columns * element_bytes, columns * element_bytes, n_stride, c0_stride)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("src_stride, dst_stride", [(32, 32), (64, 32), (32, 96)])
def test_square_transposes(host, rng, element_bytes, src_stride, dst_stride):
    size = 32 // element_bytes
    dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32}[element_bytes]
    source = rng.integers(0, 256, size * src_stride).astype(np.uint8)
    dst = np.full(size * dst_stride, MARK, np.uint8)
    square = np.ascontiguousarray(source.reshape(size, src_stride)[:, :32]).view(dtype)
    expected = dst.copy().reshape(size, dst_stride)
    expected[:, :32] = np.ascontiguousarray(square.T).view(np.uint8)
    host.transpose(dst, dst_stride, source, src_stride, element_bytes)
    assert np.array_equal(dst, expected.ravel())


STORES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def stored(values, kind):
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(STORES[kind])


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("m, n", [(1, 1), (16, 16), (17, 15), (31, 33), (64, 48)])
def test_nz2nd_rounds_to_nearest_even_and_leaves_the_rest_of_a_row(host, rng, kind, m, n):
    block_stride = ceil_div(m, 16) * 256 + 32
    l0c = np.full(ceil_div(n, 16) * block_stride, np.nan, np.float32)
    values = rng.standard_normal((m, n)).astype(np.float32)
    values.flat[::7] *= np.float32(1e-39) if kind != "f16" else np.float32(1e-6)  # subnormals of the destination
    values.flat[::11] *= np.float32(1e30)
    values.flat[:3] = [np.inf, -0.0, np.nan][:min(3, m * n)]
    for i in range(m):
        for j in range(n):
            l0c[j // 16 * block_stride + i * 16 + j % 16] = values[i, j]
    row_bytes = n * np.dtype(STORES[kind]).itemsize + 6
    scales = (2.0 ** rng.integers(-3, 4, n)).astype(np.float32) * np.float32(1.25)

    def run(start=None, **options):
        dst = np.full((m, row_bytes), MARK, np.uint8)
        if start is not None:
            dst[:, :row_bytes - 6] = start.view(np.uint8)
        host.nz2nd(dst, row_bytes, l0c, block_stride, m, n, kind, **options)
        assert (dst[:, row_bytes - 6:] == MARK).all()
        return np.ascontiguousarray(dst[:, :row_bytes - 6]).view(STORES[kind])

    def same(got, expected):
        assert np.array_equal(got.astype(np.float32), expected.astype(np.float32), equal_nan=True)

    with np.errstate(over="ignore", invalid="ignore"):
        same(run(), stored(values, kind))
        same(run(scale=0.3), stored(values * np.float32(0.3), kind))
        same(run(scales=scales), stored(values * scales, kind))
        same(run(relu=True, scale=-1.0), stored(np.where(values > 0, np.float32(0), -values), kind))
        start = stored(rng.standard_normal((m, n)).astype(np.float32), kind)
        added = start.astype(np.float32) + stored(values, kind).astype(np.float32)
        same(run(start=start, add=True), stored(added, kind))
