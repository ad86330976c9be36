# SPDX-License-Identifier: MIT
"""Do the loads around the cube put every byte where the layouts of ascend950.md 4.1 say? Bytes, and which units count as defined."""

import ml_dtypes
import numpy as np
import pytest
from ascend_sim import LaunchError
from support.cube import POISON, cycles_of, launch
from support.edges import edges
from support.simd import edge_values

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
    (0, 0, 1, 1, 1, 1), (1, 2, 3, 4, 6, 5), (0, 0, 4, 2, 4, 4), (2, 1, 2, 5, 8, 2), (1, 1, 2, 3, 0, 2), (0, 0, 3, 4, 3, 0), (0, 0, 1, 255, 0, 0)]


def fractal(source, index, dtype):
    return source[index * 512:][:512].view(dtype).reshape(16, -1)


@edges("sizes strides", "asc_copy_l12l0{a,b}")
@pytest.mark.parametrize("what, memory", [(0, L0A), (1, L0B)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("numbers", FRACTAL_LOADS)
def test_a_load_moves_fractals(what, memory, numbers):
    m0, k0, ms, ks, src, dst = numbers
    source = noise(L1_BYTES)
    places = [(1024 + (k * dst + m) * 512, source[((k0 + k) * src + m0 + m) * 512:][:512]) for k in range(ks) for m in range(ms)]
    expect(load(what, memory, L1_BYTES, [*numbers, 1024], source), places, L1_BYTES)


@edges("sizes strides", "asc_copy_l12l0{a,b}_transpose")
@pytest.mark.parametrize("what, memory", [(2, L0A), (3, L0B)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("numbers", FRACTAL_LOADS[:-1])
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


@edges("sizes", "asc_copy_l12l0{a,b}_transpose")
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


@edges("sizes strides", "asc_copy_l12l0{a,b}_mx")
@pytest.mark.parametrize("what, memory", [(8, L0A_MX), (9, L0B_MX)], ids=["l0a", "l0b"])
@pytest.mark.parametrize("numbers", [(0, 0, 1, 1, 1, 1), (1, 2, 3, 4, 7, 5), (3, 1, 4, 2, 0, 2), (0, 0, 4, 3, 5, 0), (0, 0, 255, 1, 0, 0)])
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


@edges("values sizes strides", "asc_copy_l12l0a_img2col")
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

@edges("values sizes", "asc_copy_l12{bt,fb}")
@pytest.mark.parametrize("what, memory, dtype", [(10, BT, None), (11, BT, np.float16), (12, BT, ml_dtypes.bfloat16), (13, FB, None)],
                         ids=["bias fp32", "bias f16", "bias bf16", "fixpipe"])
@pytest.mark.parametrize("size", [2, 4, 30, 34, 32, 160, 1024])
def test_bias_and_fixpipe_parameters(what, memory, dtype, size):
    source = noise(-(-size // 32) * 32)
    landed = source[:size]
    if dtype:
        name = "f16" if dtype == np.float16 else "bf16"
        source[:size] = np.resize(np.concatenate([edge_values(name), np.random.default_rng(3).standard_normal(40).astype(dtype)]), size // 2).view(np.uint8)
        landed = source[:size].view(dtype).astype(np.float32).view(np.uint8)
    expect(load(what, memory, 4096, [size, 128], source), [(128, landed)], 4096)


# ---- plain copies and fills ---------------------------------------------------------------------------------------------

@edges("sizes strides", "asc_copy_l12ub")
@pytest.mark.parametrize("core", [0, 1])
@pytest.mark.parametrize("bursts, units, src_gap, dst_gap", [(4, 3, 2, 1), (1, 1, 0, 0), (4, 1, 0, 0), (1, 2, 65535, 65535), (3, 5, 0, 2)])
def test_l1_to_ub_of_either_vector_core(core, bursts, units, src_gap, dst_gap):
    source = noise(64 * 32)
    places = [(96 + burst * (units + dst_gap) * 32, source[burst * (units + src_gap) * 32:][:units * 32]) for burst in range(bursts)]
    expect(load(14, UB0 + core, 2048, [bursts, units, src_gap, dst_gap, core, 96], source), places, 2048)


@edges("sizes strides", "asc_copy_gm2l1")
@pytest.mark.parametrize("row_bytes", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("rows, src_stride, dst_stride", [(5, 160, 128), (1, 0, 0), (5, 0, 128), (5, 100, 0)])
def test_global_memory_to_l1_as_it_is(row_bytes, rows, src_stride, dst_stride):
    source = noise(5 * 160)
    places = [(64 + row * dst_stride, source[row * src_stride:][:row_bytes]) for row in range(rows)]
    expect(load(20, L1, 1024, [rows, row_bytes, src_stride, dst_stride, 64], source), places, 1024)


@edges("sizes strides", "asc_fill_{l0a,l0b,l1}")
@pytest.mark.parametrize("what, memory, unit, word", [(21, L0A, 512, b"\x34\x12" * 2), (22, L0B, 512, b"\x78\x56\x34\x12"), (23, L1, 32, b"\x34\x12" * 2),
                                                      (24, L1, 32, b"\x78\x56\x34\x12")], ids=["l0a b16", "l0b b32", "l1 b16", "l1 b32"])
@pytest.mark.parametrize("repeats, blocks, gap", [(3, 2, 3), (1, 1, 0), (4, 1, 0), (1, 3, 32767)])
def test_fills_repeat_a_word(what, memory, unit, word, repeats, blocks, gap):
    number = 0x99991234 if word[:2] == b"\x34\x12" else 0x12345678
    places = [(unit * (1 + repeat * (blocks + gap)), np.frombuffer(word * (unit * blocks // 4), np.uint8)) for repeat in range(repeats)]
    expect(load(what, memory, 16 * unit, [number, repeats, blocks, gap, unit], np.zeros(64, np.uint8)), places, 16 * unit)


@edges("sizes", "asc_copy_gm2l1_{nd2nz,dn2nz}")
@pytest.mark.parametrize("what, rows, columns", [(25, 5, 33), (25, 17, 96), (26, 5, 33), (26, 40, 65), (27, 3, 17), (25, 1, 1), (25, 16, 32), (25, 15, 31), (26, 1, 1),
                                                 (26, 16, 32), (26, 33, 31), (27, 1, 1), (27, 16, 16), (27, 17, 15)])
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


@edges("strides", "asc_copy_gm2l1_nd2nz asc_copy_gm2l1_dn2nz asc_set_gm2l1_nz_para")
@pytest.mark.parametrize("what", [25, 26])
@pytest.mark.parametrize("count, n_stride, c0_stride, matrix_stride, outer", [(1, 1, 5, 0, 0), (3, 1, 5, 10, 0), (2, 1, 5, 0, 400), (2, 2, 1, 16, 400), (0, 1, 1, 0, 0)])
def test_strides_of_the_fractal_copies_down_to_none(what, count, n_stride, c0_stride, matrix_stride, outer):
    """Without an outer stride a matrix comes several times, without one in L1 the last one stays; units may lie between rows."""
    rows, columns, pitch = 5, 33, 40
    source, places = noise(4096), []
    for number in range(count):
        flat = source[number * outer:]
        matrix = np.stack([flat[row * pitch:][:columns] if what == 25 else flat[row:][:columns * pitch:pitch] for row in range(rows)])
        for unit in range(2):
            for row in range(rows):
                piece = np.zeros(32, np.uint8)
                live = matrix[row, unit * 32:(unit + 1) * 32]
                piece[:len(live)] = live
                places.append((64 + (number * matrix_stride + unit * c0_stride + row * n_stride) * 32, piece))
    size = 4096
    expect(load(what, L1, size, [rows, columns, pitch, outer, count, n_stride, c0_stride, matrix_stride, 64], source), places, size)


@edges("bounds", "asc_copy_l12l0{a,b}")
@pytest.mark.parametrize("what, memory", [(0, L0A), (1, L0B)], ids=["l0a", "l0b"])
def test_a_load_reads_the_last_fractal_of_l1_and_fills_l0_to_its_end(what, memory):
    source, last = noise(512 << 10), 15 * 512       # of 16 fractals on the host may put the copy off
    expect(load(what, memory, 64 << 10, [1024 - 15, 0, 15, 1, 1, 1, (64 << 10) - last], source), [((64 << 10) - last, source[-last:])], 64 << 10)


@edges("bounds", "asc_copy_l12l0{a,b}_mx asc_copy_l12{bt,fb,ub} asc_fill_{l0a,l0b,l1} asc_copy_gm2l1")
@pytest.mark.parametrize("what, memory, size, numbers, length", [
    (8, L0A_MX, 4096, [16383 - 127, 0, 128, 1, 1, 1, 0], 4096), (9, L0B_MX, 4096, [0, 16383 - 127, 1, 128, 1, 1, 0], 4096),
    (10, BT, 4096, [4096, 0], 4096), (13, FB, 4096, [4096, 0], 4096), (14, UB0, 256 << 10, [1, 8192, 0, 0, 0, 0], 256 << 10),
    (20, L1, 512 << 10, [1, 512 << 10, 0, 0, 0], 512 << 10), (21, L0A, 64 << 10, [0, 1, 128, 0, 0], 64 << 10), (22, L0B, 64 << 10, [0, 128, 1, 0, 0], 64 << 10),
    (24, L1, 512 << 10, [0, 1, 16384, 0, 0], 512 << 10)])
def test_a_memory_is_filled_to_its_last_byte(what, memory, size, numbers, length):
    source = noise(512 << 10)
    begin = {8: (16383 - 127) * 32, 9: (16383 - 127) * 32}.get(what, 0)
    landed = np.zeros(length, np.uint8) if what >= 21 else source[begin:][:length]
    expect(load(what, memory, size, numbers, source), [(0, landed)], size)


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

@edges("bounds", "asc_copy_l12l0{a,b} asc_copy_l12l0{a,b}_{transpose,mx} asc_copy_l12{bt,fb,ub} asc_copy_gm2l1 asc_copy_gm2l1_{nd2nz,dn2nz} asc_set_gm2l1_nz_para asc_fill_{l0a,l0b,l1} asc_copy_l12l0a_img2col")
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
    *((17, [0, 0, 16, 16, 0, *(bad if i == place else x for i, x in enumerate((5, 7, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1))), 0], f"{field} = {bad}; the field holds 1 to {top}")
      for place, field, top, values in ((0, "height", 32767, (0, 32768)), (1, "width", 32767, (0, 32768)), (6, "kernel_height", 255, (0,)), (7, "kernel_width", 255, (0,)),
                                        (8, "stride_height", 63, (0, 64)), (9, "stride_width", 63, (0, 64)), (10, "dilation_height", 255, (0,)),
                                        (11, "dilation_width", 255, (0,))) for bad in values),
    *((17, [*numbers, 0, *WINDOWS[0], 0], f"{field} = {bad}; the field holds 0 to 65535") for place, field in enumerate(("m_start", "k_start", "m", "k")) for bad in (65536, -1)
      for numbers in ([bad if i == place else x for i, x in enumerate((0, 0, 16, 16))],)),
    (21, [0, 1, 129, 0, 0], r"asc_fill_l0a: destination: L0A addresses 0x0 to 0x10200"),
    (22, [0, 1, 129, 0, 0], r"asc_fill_l0b: destination: L0B addresses 0x0 to 0x10200"),
    (23, [0, 1, 16385, 0, 0], r"asc_fill_l1: destination: L1 addresses 0x0 to 0x80020"),
    *((what, [0, *values, 0], f"{name}: {field} = 32768; the field holds 0 to 32767") for what, name in ((21, "asc_fill_l0a"), (22, "asc_fill_l0b"), (23, "asc_fill_l1"))
      for field, values in (("repeat", (32768, 1, 0)), ("blk_num", (1, 32768, 0)), ("dst_gap", (1, 1, 32768)))),
    *((what, [x if i == place else 1 for i in range(6)] + [0], f"{name}: {field} = {x}; the field holds 0 to {x - 1 if x > 0 else top}")
      for what, name, letters in ((0, "asc_copy_l12l0a", "mk"), (1, "asc_copy_l12l0b", "mk"), (2, "asc_copy_l12l0a_transpose", "mk"), (3, "asc_copy_l12l0b_transpose", "mk"),
                                  (8, "asc_copy_l12l0a_mx", "xy"), (9, "asc_copy_l12l0b_mx", "xy"))
      for place, (field, top) in enumerate(((f"{letters[0]}_start", 65535), (f"{letters[1]}_start", 65535), (f"{letters[0]}_step", 255), (f"{letters[1]}_step", 255),
                                            ("src_stride", 65535), ("dst_stride", 65535))) for x in (top + 1, -1)),
    (0, [1023, 0, 2, 1, 1, 1, 0], "asc_copy_l12l0a: source: L1 addresses 0x7fe00 to 0x80200; the memory ends at 0x80000"),
    (8, [0, 0, 129, 1, 1, 1, 0], "destination: L0A_MX addresses 0x0 to 0x1020; the memory ends at 0x1000"),
    (9, [16383, 0, 2, 1, 1, 1, 0], "asc_copy_l12l0b_mx: source: L1 addresses 0x7ffe0 to 0x80020"),
    (14, [4096, 1, 0, 0, 0, 0], "asc_copy_l12ub: n = 4096; the field holds 0 to 4095"),
    (14, [1, 65536, 0, 0, 0, 0], "asc_copy_l12ub: len = 65536; the field holds 0 to 65535"),
    (14, [1, 1, 65536, 0, 0, 0], "src gap = 65536; the field holds 0 to 65535"),
    (14, [1, 1, 0, -1, 0, 0], "dst gap = -1; the field holds 0 to 65535"),
    (14, [1, 8193, 0, 0, 0, 0], "destination: UB0 addresses 0x0 to 0x40020; the memory ends at 0x40000"),
    (20, [4096, 1, 0, 0, 0], "asc_copy_gm2l1: n = 4096; the field holds 0 to 4095"),
    (20, [1, 2097152, 0, 0, 0], "asc_copy_gm2l1: len = 2097152; the field holds 0 to 2097151"),
    (20, [2, 32, 32, -32, 0], "dst_stride = -32; the field holds 0 to 524288"),
    (20, [2, 32, -32, 32, 0], "source: strides of -32 and 0 bytes in global memory"),
    *((what, numbers, message) for what, name in ((25, "asc_copy_gm2l1_nd2nz"), (26, "asc_copy_gm2l1_dn2nz")) for numbers, message in (
        ([16385, 1, 1, 0, 1, 1, 1, 0, 0], f"{name}: rows = 16385; the field holds 0 to 16384"),
        ([1, 2097152, 1, 0, 1, 1, 1, 0, 0], f"{name}: columns = 2097152; the field holds 0 to {65535 if what == 25 else 2097151}"),
        ([-1, 1, 1, 0, 1, 1, 1, 0, 0], f"{name}: rows = -1"),
        ([1, 1, 1, 0, 4096, 1, 1, 0, 0], "asc_set_gm2l1_nz_para: count = 4096; the field holds 0 to 4095"),
        ([1, 1, 1, 0, 1, 0, 1, 0, 0], "asc_set_gm2l1_nz_para: n_stride = 0; the field holds 1 to 16384"),
        ([1, 1, 1, 0, 1, 1, 16385, 0, 0], "asc_set_gm2l1_nz_para: c0_stride = 16385; the field holds 1 to 16384"),
        ([1, 1, 1, 0, 1, 1, 1, 16385, 0], "asc_set_gm2l1_nz_para: matrix_stride = 16385; the field holds 0 to 16384"),
        ([2, 2, 2, -8, 2, 1, 16, 32, 0], f"{name}: source: strides of 2 and -8 bytes in global memory"),
        ([1, 1, 1, 0, 1, 1, 1, 0, (512 << 10) - 32 + 32], f"{name}: destination: L1 addresses 0x80000 to 0x80020"),
        ([2, 4096, 4096, 0, 1, 1, 16, 0, 0], f"{name}: source: global memory .* leaves its tensor"))),
    (25, [2, 2, 0, 0, 1, 1, 2, 0, 0], "asc_copy_gm2l1_nd2nz: row stride = 0; the field holds 1 to 524280"),
    (25, [2, 2, 524281, 0, 1, 1, 2, 0, 0], "asc_copy_gm2l1_nd2nz: row stride = 524281; the field holds 1 to 524280"),
    (26, [2, 2, -2, 0, 1, 1, 2, 0, 0], "asc_copy_gm2l1_dn2nz: source: strides of -2 and 0 bytes"),
])
def test_what_a_load_cannot_do_is_refused(what, numbers, message):
    with pytest.raises(LaunchError, match=message):
        load(what, L0A, 512, numbers, noise(4096))


@edges("sizes", "asc_copy_l12l0a asc_copy_l12{bt,ub} asc_copy_gm2l1 asc_fill_l0a")
@pytest.mark.parametrize("what, numbers", [(0, [0, 0, 0, 1, 1, 1, 0]), (4, [0, 0, 2, 0, 1, 1, 0]), (8, [0, 0, 0, 1, 1, 1, 0]), (10, [0, 0]),
                                           (14, [0, 1, 0, 0, 0, 0]), (20, [0, 32, 0, 0, 0]), (21, [0, 0, 1, 0, 0])])
def test_counts_of_zero_do_nothing(what, numbers):
    memory = {8: L0A_MX, 10: BT, 14: UB0, 20: L1}.get(what, L0A)
    expect(load(what, memory, 512, numbers, noise(4096), l1_bytes=0), [], 512)
