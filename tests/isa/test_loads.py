# SPDX-License-Identifier: MIT
"""Do the loads around the cube put every byte where the layouts of ascend950.md 4.1 say? Bytes, and which units count as defined."""

import ml_dtypes
import numpy as np
import pytest
from ascend_sim import LaunchError
from support.cube import POISON, cycles_of, launch

L1, L0A, L0B, L0A_MX, L0B_MX, L0C, BT, FB, UB0, UB1 = range(10)
L1_BYTES = 48 * 512


def load(what, memory, back_bytes, numbers, source, l1_bytes=None):
    """(bytes, defined units) of the memory afterwards."""
    back, defined = np.zeros(back_bytes, np.uint8), np.zeros(-(-back_bytes // 32), np.uint8)
    launch("load", source, back, defined, numbers=[what, source.nbytes if l1_bytes is None else l1_bytes, memory, back_bytes, *numbers])
    return back, defined.astype(bool)


def noise(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def expect(got, places, size):
    """`places`: (byte offset, bytes) pieces; everything else is poison and undefined."""
    want, defined = np.full(size, POISON, np.uint8), np.zeros(-(-size // 32), bool)
    for offset, piece in places:
        want[offset:offset + len(piece)] = piece
        defined[offset // 32:-(-(offset + len(piece)) // 32)] = True
    assert (got[0] == want).all()
    assert (got[1] == defined[:len(got[1])]).all()


# ---- fractals -----------------------------------------------------------------------------------------------------------

FRACTAL_LOADS = [  # m_start, k_start, m_step, k_step, src_stride, dst_stride
    (0, 0, 1, 1, 1, 1), (1, 2, 3, 4, 6, 5), (0, 0, 4, 2, 4, 4), (2, 1, 2, 5, 8, 2)]


def fractal(source, index, dtype):
    return source[index * 512:][:512].view(dtype).reshape(16, -1)


@pytest.mark.parametrize("what, memory", [(0, L0A), (1, L0B)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("numbers", FRACTAL_LOADS)
def test_a_load_moves_fractals(what, memory, numbers):
    m0, k0, ms, ks, src, dst = numbers
    source = noise(L1_BYTES)
    places = [(1024 + (k * dst + m) * 512, source[((k0 + k) * src + m0 + m) * 512:][:512]) for k in range(ks) for m in range(ms)]
    expect(load(what, memory, L1_BYTES, [*numbers, 1024], source), places, L1_BYTES)


@pytest.mark.parametrize("what, memory", [(2, L0A), (3, L0B)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("numbers", FRACTAL_LOADS)
def test_b16_fractals_are_transposed_one_by_one(what, memory, numbers):
    m0, k0, ms, ks, src, dst = numbers
    source = noise(L1_BYTES)
    places = [((m * dst + k) * 512, fractal(source, (k0 + k) * src + m0 + m, np.uint16).T.copy().reshape(-1).view(np.uint8))
              for k in range(ks) for m in range(ms)]
    expect(load(what, memory, L1_BYTES, [*numbers, 0], source), places, L1_BYTES)


def nz_matrix(source, first_block, blocks, first_column, columns, src, dtype):
    """The elements that a load covers, as rows and columns."""
    return np.concatenate([np.concatenate([fractal(source, column * src + block, dtype) for block in range(first_block, first_block + blocks)])
                           for column in range(first_column, first_column + columns)], axis=1)


def operand(l0, rows, k_units, stride, dtype):
    """L0 as rows and k: fractal (k unit, row block) at k unit * stride + row block."""
    return np.concatenate([np.concatenate([fractal(l0, unit * stride + block, dtype) for block in range(rows // 16)]) for unit in range(k_units)], axis=1)


@pytest.mark.parametrize("what, memory, dtype", [(4, L0A, np.uint8), (5, L0B, np.uint8), (6, L0A, np.uint32), (7, L0B, np.uint32), (2, L0A, np.uint16)],
                         ids=["b8 l0a", "b8 l0b", "b32 l0a", "b32 l0b", "b16 l0a"])
@pytest.mark.parametrize("m0, k0, ms, ks", [(0, 0, 2, 2), (2, 2, 4, 4), (0, 2, 6, 2)])
def test_a_transposed_load_is_the_transposed_matrix(what, memory, dtype, m0, k0, ms, ks):
    src = 8
    source = noise(src * 8 * 512)
    wide = nz_matrix(source, m0, ms, k0, ks, src, dtype)         # [ms * 16, ks * K0]
    k_units = wide.shape[0] * wide.itemsize // 32
    stride = wide.shape[1] // 16 + 1                             # one fractal more than the rows take
    back, defined = load(what, memory, 64 * 512, [m0, k0, ms, ks, src, stride, 0], source)
    assert (operand(back, wide.shape[1], k_units, stride, dtype) == wide.T).all()
    assert defined.sum() == wide.nbytes // 32


def nibbles(matrix):
    """Bytes [rows, columns] as elements of 4 bits, the even one in the low half."""
    return np.stack((matrix & 15, matrix >> 4), axis=-1).reshape(len(matrix), -1)


@pytest.mark.parametrize("what, memory", [(15, L0A), (16, L0B)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("m0, k0, ms, ks", [(0, 0, 4, 1), (4, 1, 8, 3)])
def test_a_transposed_load_of_4_bit_elements_is_the_transposed_matrix(what, memory, m0, k0, ms, ks):
    src = 12
    source = noise(src * 4 * 512)
    wide = nibbles(nz_matrix(source, m0, ms, k0, ks, src, np.uint8))
    stride = 4 * ks + 1
    back, defined = load(what, memory, 64 * 512, [m0, k0, ms, ks, src, stride, 0], source)
    assert (nibbles(operand(back, 64 * ks, ms // 4, stride, np.uint8)) == wide.T).all()
    assert defined.sum() == ms * ks * 16


def test_4_bit_elements_are_transposed_by_four_row_blocks():
    with pytest.raises(LaunchError, match="m_start = 0, m_step = 6; transposing loads of 4-bit elements take multiples of 4 row blocks"):
        load(15, L0A, 512, [0, 0, 6, 1, 8, 4, 0], noise(8 * 512))


def test_a_fractal_with_an_undefined_row_is_undefined_when_transposed():
    source = noise(4 * 512)
    _, plain = load(0, L0A, 2048, [0, 0, 2, 1, 2, 2, 0], source, l1_bytes=1024 - 32)
    _, transposed = load(2, L0A, 2048, [0, 0, 2, 1, 2, 1, 0], source, l1_bytes=1024 - 32)
    assert plain.sum() == 31 and transposed.sum() == 16


@pytest.mark.parametrize("what, memory", [(8, L0A_MX), (9, L0B_MX)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("numbers", [(0, 0, 1, 1, 1, 1), (1, 2, 3, 4, 7, 5)])
def test_scale_fractals_of_32_bytes(what, memory, numbers):
    x0, y0, xs, ys, src, dst = numbers
    source = noise(4096)
    places = [(64 + (x * dst + y) * 32, source[((x0 + x) * src + y0 + y) * 32:][:32]) for x in range(xs) for y in range(ys)]
    expect(load(what, memory, 1024, [*numbers, 64], source), places, 1024)


# ---- feature maps -------------------------------------------------------------------------------------------------------

WINDOWS = [  # height, width, pads left right top bottom, kernel height width, stride height width, dilation height width
    (5, 7, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1), (6, 9, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1), (8, 8, 2, 0, 0, 1, 3, 2, 2, 3, 1, 1), (9, 11, 1, 2, 3, 0, 2, 3, 1, 2, 2, 3)]


def windows(maps, window, pad):
    """[positions, k]: maps [channel blocks, height, width, C0], k = (channel block, kernel row, kernel column, channel)."""
    h, w, left, right, top, bottom, kh, kw, sh, sw, dh, dw = window
    wide = np.full((len(maps), h + top + bottom, w + left + right, maps.shape[3]), pad, maps.dtype)
    wide[:, top:top + h, left:left + w] = maps
    oh, ow = (h + top + bottom - dh * (kh - 1) - 1) // sh + 1, (w + left + right - dw * (kw - 1) - 1) // sw + 1
    parts = [wide[:, y * dh:, x * dw:][:, :(oh - 1) * sh + 1:sh, :(ow - 1) * sw + 1:sw] for y in range(kh) for x in range(kw)]
    return np.stack(parts, axis=1).transpose(2, 3, 0, 1, 4).reshape(oh * ow, -1), ow


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("what, dtype", [(17, np.uint16), (18, np.uint8), (19, np.uint32)], ids=["b16", "b8", "b32"])
def test_img2col_makes_windows_into_rows(what, dtype, window):
    c0, pad = 32 // np.dtype(dtype).itemsize, 0x5C5C5C5C & (1 << 8 * np.dtype(dtype).itemsize) - 1
    maps = noise(2 * window[0] * window[1] * 32).view(dtype).reshape(2, *window[:2], c0)
    matrix, _ = windows(maps, window, pad)
    rows, units = len(matrix), matrix.shape[1] // c0
    for m0, m, k0, k in ((0, rows, 0, units), (3, min(17, rows - 3), 1, units - 1)):
        part = matrix[m0:m0 + m, k0 * c0:(k0 + k) * c0]
        blocks = -(-m // 16)
        places = [(512 + ((unit * blocks + row // 16) * 16 + row % 16) * 32, part[row, unit * c0:(unit + 1) * c0].copy().view(np.uint8))
                  for unit in range(k) for row in range(m)]
        size = 512 + blocks * k * 512 + 512
        expect(load(what, L0A, size, [m0, k0 * c0, m, k * c0, 512, *window, pad], maps), places, size)


@pytest.mark.parametrize("window, m, rate", [
    ((4, 32, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1), 64, 256),        # 16 positions of one row
    ((8, 24, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1), 64, 512 // 4),   # of two rows
    ((16, 8, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1), 64, 512 // 4),
    ((32, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1), 64, 512 // 6),
    ((4, 64, 0, 0, 0, 0, 1, 1, 1, 2, 1, 1), 64, 512 // 4),   # every other column
    ((4, 255, 0, 0, 0, 0, 1, 1, 1, 15, 1, 1), 64, 32)])
def test_img2col_slows_down_with_rows_and_strides(window, m, rate, tmp_path):
    source = np.zeros(window[0] * window[1] * 32, np.uint8)
    spent = cycles_of("asc_copy_l12l0a_img2col", lambda: load(17, L0A, 64, [0, 0, m, 16, 0, *window, 0], source), tmp_path)
    assert spent == [pytest.approx(3 + m * 32 / rate + 5, abs=0.6)]


# ---- parameters ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("what, memory, dtype", [(10, BT, None), (11, BT, np.float16), (12, BT, ml_dtypes.bfloat16), (13, FB, None)],
                         ids=["bias fp32", "bias f16", "bias bf16", "fixpipe"])
@pytest.mark.parametrize("units", [1, 5, 32])
def test_bias_and_fixpipe_parameters(what, memory, dtype, units):
    source = noise(units * 32)
    landed = source
    if dtype:
        source = np.resize(np.array([1.5, -0.0, np.inf, -2.0**-14, 3e-7, 1000, np.nan, -7], np.float32), units * 16).astype(dtype).view(np.uint8)
        landed = source.view(dtype).astype(np.float32).view(np.uint8)
    expect(load(what, memory, 4096, [len(source), 128], source), [(128, landed)], 4096)


# ---- plain copies and fills ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("core", [0, 1])
def test_l1_to_ub_of_either_vector_core(core):
    source = noise(64 * 32)
    places = [(96 + burst * (3 + 1) * 32, source[burst * (3 + 2) * 32:][:96]) for burst in range(4)]
    expect(load(14, UB0 + core, 2048, [4, 3, 2, 1, core, 96], source), places, 2048)


@pytest.mark.parametrize("row_bytes", [1, 31, 32, 33, 100])
def test_global_memory_to_l1_as_it_is(row_bytes):
    source = noise(5 * 160)
    places = [(64 + row * 128, source[row * 160:][:row_bytes]) for row in range(5)]
    expect(load(20, L1, 1024, [5, row_bytes, 160, 128, 64], source), places, 1024)


@pytest.mark.parametrize("what, memory, unit, word", [(21, L0A, 512, b"\x34\x12" * 2), (22, L0B, 512, b"\x78\x56\x34\x12"), (23, L1, 32, b"\x34\x12" * 2),
                                                      (24, L1, 32, b"\x78\x56\x34\x12")], ids=["l0a b16", "l0b b32", "l1 b16", "l1 b32"])
def test_fills_repeat_a_word(what, memory, unit, word):
    number = 0x99991234 if word[:2] == b"\x34\x12" else 0x12345678
    places = [(unit * (1 + repeat * 5), np.frombuffer(word * (unit * 2 // 4), np.uint8)) for repeat in range(3)]
    expect(load(what, memory, 16 * unit, [number, 3, 2, 3, unit], np.zeros(64, np.uint8)), places, 16 * unit)


@pytest.mark.parametrize("what, rows, columns", [(25, 5, 33), (25, 17, 96), (26, 5, 33), (26, 40, 65), (27, 3, 17)])
def test_row_and_column_major_become_fractals(what, rows, columns):
    """25: row-major bytes; 26, 27: column-major bytes and 16-bit elements. Two matrices, rows 2 units apart; tails of a row are zero."""
    size = 2 if what == 27 else 1
    c0, c0_stride, matrix_stride = 32 // size, 2 * rows + 3, (2 * rows + 3) * 4
    matrices = [noise(rows * columns * size, seed).reshape(rows, columns, size) for seed in range(2)]
    pitch = (columns if what == 25 else rows) * size + 6
    source = np.full((2, pitch * max(rows, columns)), 0xEE, np.uint8)
    for matrix, into in zip(matrices, source, strict=True):
        lines = matrix if what == 25 else matrix.transpose(1, 0, 2)
        for number, line in enumerate(lines):
            into[number * pitch:][:line.size] = line.reshape(-1)
    places = []
    for number, matrix in enumerate(matrices):
        for row in range(rows):
            for unit in range(-(-columns // c0)):
                piece = np.zeros(32, np.uint8)
                live = matrix[row, unit * c0:(unit + 1) * c0].reshape(-1)
                piece[:len(live)] = live
                places.append((64 + (number * matrix_stride + unit * c0_stride + row * 2) * 32, piece))
    size_back = 64 + 2 * matrix_stride * 32 + 1024
    numbers = [rows, columns, pitch, source.shape[1], 2, 2, c0_stride, matrix_stride, 64]
    expect(load(what, L1, size_back, numbers, source), places, size_back)


# ---- time: bytes over the rate of the way --------------------------------------------------------------------------------

@pytest.mark.parametrize("instruction, what, numbers, cycles", [
    ("asc_copy_l12l0a", 0, [0, 0, 8, 1, 8, 8, 0], 3 + 4096 / 256 + 5),
    ("asc_copy_l12l0b", 1, [0, 0, 8, 1, 8, 8, 0], 3 + 4096 / 256 + 5),
    ("asc_copy_l12l0a_transpose", 6, [0, 0, 4, 2, 4, 1, 0], 3 + 4096 / 256 + 5),
    ("asc_copy_l12l0b_transpose", 7, [0, 0, 4, 2, 4, 1, 0], 3 + 4096 / 128 + 5),
    ("asc_copy_l12l0b_mx", 9, [0, 0, 4, 4, 4, 4, 0], 1 + 512 / 32 + 28),
    ("asc_copy_l12bt", 10, [1024, 0], 1024 / 32 + 5),
    ("asc_copy_l12bt", 11, [1024, 0], 2048 / 32 + 5),        # what lands
    ("asc_copy_l12fb", 13, [1024, 0], 1024 / 32 + 5),
    ("asc_copy_l12ub", 14, [2, 32, 0, 0, 0, 0], 2048 / 128 + 43),
    ("asc_fill_l0a", 21, [0, 1, 8, 0, 0], 3 + 4096 / 256 + 5),
    ("asc_fill_l1", 23, [0, 1, 128, 0, 0], 4096 / 128 + 5),
])
def test_time_is_bytes_over_the_rate(instruction, what, numbers, cycles, tmp_path):
    spent = cycles_of(instruction, lambda: load(what, L1, 64, numbers, noise(8192)), tmp_path)
    assert spent == [pytest.approx(cycles, abs=0.3)]


# ---- rules --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("what, numbers, message", [
    (0, [0, 0, 256, 1, 1, 1, 0], "asc_copy_l12l0a: m_step = 256; the field holds 0 to 255"),
    (0, [0, 0, 129, 1, 129, 129, 0], r"destination: L0A addresses 0x0 to 0x10200; the memory ends at 0x10000"),
    (1, [0, 0, 1, 1, 1, 1, 32], "asc_copy_l12l0b: destination: L0B address 0x20 is not 512-byte aligned"),
    (4, [1, 0, 2, 1, 8, 1, 0], "m_start = 1, m_step = 2; transposing loads of 8-bit elements take multiples of 2 row blocks"),
    (6, [0, 1, 1, 2, 8, 1, 0], "k_start = 1, k_step = 2; transposing loads of 32-bit elements take pairs of column blocks"),
    (10, [4097, 0], "asc_copy_l12bt: bytes = 4097; the field holds 0 to 4096"),
    (11, [4096, 0], "destination: BT addresses 0x0 to 0x2000; the memory ends at 0x1000"),
    (13, [32, 32], "asc_copy_l12fb: destination: FB address 0x20 is not 64-byte aligned"),
    (14, [1, 1, 0, 0, 2, 0], "sub_block = 2; the field holds 0 to 1"),
    (20, [2, 32, 32, 33, 0], "destination stride 33 is not a multiple of 32 bytes"),
    (20, [1, 65536, 0, 0, 0], "source: global memory .* leaves its tensor"),
    (17, [0, 8, 16, 16, 0, *WINDOWS[0], 0], "k_start = 8, k = 16; both are multiples of 16, the channels in 32 bytes"),
    (17, [20, 0, 16, 16, 0, *WINDOWS[0], 0], "rows 20 to 36; the feature map gives 35 positions"),
    (17, [0, 0, 16, 16, 0, 5, 7, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0], "stride_height = 0; the field holds 1 to 63"),
    (21, [0, 1, 129, 0, 0], r"asc_fill_l0a: destination: L0A addresses 0x0 to 0x10200"),
])
def test_what_a_load_cannot_do_is_refused(what, numbers, message):
    with pytest.raises(LaunchError, match=message):
        load(what, L0A, 512, numbers, noise(4096))


@pytest.mark.parametrize("what, numbers", [(0, [0, 0, 0, 1, 1, 1, 0]), (4, [0, 0, 2, 0, 1, 1, 0]), (8, [0, 0, 0, 1, 1, 1, 0]), (10, [0, 0]),
                                           (14, [0, 1, 0, 0, 0, 0]), (20, [0, 32, 0, 0, 0]), (21, [0, 0, 1, 0, 0])])
def test_counts_of_zero_do_nothing(what, numbers):
    memory = {8: L0A_MX, 10: BT, 14: UB0, 20: L1}.get(what, L0A)
    expect(load(what, memory, 512, numbers, noise(4096), l1_bytes=0), [], 512)
