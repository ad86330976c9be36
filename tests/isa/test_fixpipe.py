# SPDX-License-Identifier: MIT
"""Does FIX convert, arrange and store what L0C holds? The oracle places every byte of the destination, whose other bytes must stay."""

import ml_dtypes
import numpy as np
import pytest
from ascend_sim import LaunchError
from support.cube import HIF8, POISON, cycles_of, host_level, launch
from support.edges import edges

pytestmark = pytest.mark.usefixtures(host_level.__name__)

UB, GM, L1 = 0, 1, 2
RELU, LEAKY, PRELU = 1, 2, 3
#        number: (name, int32 source, result, scaled, a scale a column)
MODES = {0: ("none", None, None, False, False), 1: ("F322F16", False, "f16", False, False), 16: ("F322BF16", False, "bf16", False, False)}
for number, name, is_int, result in ((2, "QF322HIF8", False, "hif8"), (4, "QF322HIF8_HYBRID", False, "hif8_hybrid"), (14, "QF322F32", False, "f32"),
                                     (12, "QF322FP8", False, "e4m3"), (23, "QF322B8", False, "b8"), (32, "QF322F16", False, "f16"),
                                     (34, "QF322BF16", False, "bf16"), (8, "REQ8", True, "b8"), (10, "DEQF16", True, "f16"),
                                     (36, "QS322BF16", True, "bf16")):
    MODES[number], MODES[number + 1] = ("V" + name, is_int, result, True, True), (name, is_int, result, True, False)
BYTES = {None: 4, "f32": 4, "f16": 2, "bf16": 2}

EDGES = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 448.0, 464.0, 465.0, -480.0, 65504.0, 65520.0, 32768.0, -32768.0,
         1e30, -1e30, 3.4e38, 2.0**-24, 2.0**-25, 2.0**-133, 2.0**-9, 2.0**-10, 1.0009765625, 1.00390625, 127.4, 127.5, 128.0, -128.5, -129.0,
         255.5, 300.0, 40000.0, -7e-5, 3.4028235e38, -3.4028235e38, 3.3895314e38, 3.3961775e38, 2.0**-126, -(2.0**-149), 65519.996, 1 + 3 * 2.0**-11, 1 + 3 * 2.0**-8,
         -(1 + 2.0**-8), 1.0625, 1.1875, -1.1875, 3 * 2.0**-10, 3 * 2.0**-25, 3.5, -0.5, -1.5, 126.5, 254.5, 1.5 * 2.0**15, 2.0**-23, 1.5 * 2.0**-23, 0.75 * 2.0**-23]


def fp32(rows, columns, seed=0):
    """Values of every size, the edges among them."""
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-4, 5, (rows, columns))).astype(np.float32)
    places = rng.choice(values.size, min(len(EDGES), values.size), replace=False)
    values.flat[places] = np.float32(rng.permutation(EDGES)[:len(places)])
    return values


def int32(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    values = (rng.integers(-2**31, 2**31, (rows, columns)) >> rng.integers(0, 31, (rows, columns))).astype(np.int32)
    edges = np.array([0, -1, 2**31 - 1, -2**31, 2**24 + 1, 127, 128, -128, -129, 0x7f800001], np.int32)
    values.flat[:len(edges)] = edges[:values.size]
    return values


def word(scale, offset=0, signed=True):
    """ascend950.md 4.4: scale in bits 13-31, offset in bits 37-45, sign-select bit 46."""
    return int(np.float32(scale).view(np.uint32)) & 0xffffe000 | (offset & 0x1ff) << 37 | signed << 46


# ---- the oracle ---------------------------------------------------------------------------------------------------------

def narrowed(values, result, offset, signed):
    """Bytes [rows, columns, size] of fp32 values."""
    nan = np.isnan(values)
    if result in (None, "f32"):
        codes = values.view(np.uint32)
    elif result == "f16":
        codes = values.astype(np.float16).view(np.uint16)
    elif result == "bf16":
        codes = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    elif result == "e4m3":
        codes = np.where(nan, 0, values.clip(-448, 448)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    elif result == "b8":
        codes = (np.round(np.where(nan, 0, values.astype(np.float64)).clip(-1e6, 1e6)) + offset).clip(*((-128, 127) if signed else (0, 255)))
        codes = codes.astype(np.int16).astype(np.uint8)
    elif result == "hif8":
        codes = hif8(values)
    return codes.view(np.uint8).reshape(*values.shape, -1) if codes.ndim else codes


def hif8(values):
    """The nearest of all finite values, away from zero between two."""
    finite = np.flatnonzero(np.isfinite(HIF8[:128]))
    codes = finite[np.argsort(HIF8[finite])]
    magnitude = np.nan_to_num(np.abs(values.astype(np.float64)), nan=0.0, posinf=1e300)
    nearest = codes[np.searchsorted((HIF8[codes][1:] + HIF8[codes][:-1]) / 2, magnitude, side="right")]
    return np.where(nearest == 0, 0, nearest | np.signbit(values) * 0x80).astype(np.uint8)


def converted(acc, mode, relu=0, clip=None, words=None, slopes=None):
    """Bytes [m, n, size] that the accumulator's elements become. `words`, `slopes`: one, or one a column."""
    _, is_int, result, scaled, _ = MODES[mode]
    if acc.dtype == np.int32 and result is None:
        return np.where((acc < 0) & bool(relu), 0, acc).astype(np.int32).view(np.uint8).reshape(*acc.shape, 4)
    value = acc.astype(np.float32)
    words = np.atleast_1d(np.array(0 if words is None else words, np.uint64))
    with np.errstate(all="ignore"):
        if scaled:
            value = value * (words & np.uint64(0xffffe000)).astype(np.uint32).view(np.float32)
        if relu:
            factor = np.float32(0) if relu == RELU else (np.atleast_1d(np.float32(slopes)).view(np.uint32) & np.uint32(0xffffe000)).view(np.float32)
            value = np.where(value < 0, value * factor if relu != RELU else np.float32(0), value)
        if clip is not None:
            value = np.where(value > np.float32(clip), np.float32(clip), value)
        offset = (words >> np.uint64(37) & np.uint64(0x1ff)).astype(np.int64)
        return narrowed(value, result, np.where(offset > 255, offset - 512, offset), (words[0] >> np.uint64(46)) & np.uint64(1))


def place(into, codes, layout, dst_stride, offset=0, combine=None):
    """Bytes of [m, n, size] where the layout puts them."""
    m, n, size = codes.shape
    i, j = np.indices((m, n))
    width = {"split": 8}.get(layout, 32 if size == 1 else 16)
    element = {"nd": i * dst_stride + j, "dn": j * dst_stride + i}.get(layout, j // width * (dst_stride * 32 // size) + i * width + j % width)
    for byte in range(size):
        into[offset + element * size + byte] = codes[:, :, byte]


# ---- the call -----------------------------------------------------------------------------------------------------------

def in_l0c(acc, src_stride, c0_stride=1):
    """Words of L0C: 16 columns a block, rows of 16 elements; the rest is poison."""
    m, n = acc.shape
    blocks = -(-n // 16)
    image = np.full(((blocks - 1) * src_stride + (m - 1) * c0_stride + 1, 16), 0x7fc0a5a5, np.uint32)
    for block in range(blocks):
        part = acc[:, block * 16:block * 16 + 16]
        image[block * src_stride:block * src_stride + (m - 1) * c0_stride + 1:c0_stride, :part.shape[1]] = part.view(np.uint32)
    return image.reshape(-1)


def drain(image, n, m, *, is_int=False, to=UB, dst_stride, src_stride, dst_bytes, mode=0, relu=0, layout="nd", sub_block=0, dual=0, unit_flag=0, clip=None,
          words=None, slopes=None, c0_stride=0, matrices=(0, 0, 0), atomic=0, offset=0, before=None, fb_at=None, slope_at=0):
    """The destination afterwards: bytes, of UB one row a vector core."""
    dst = np.full((2 if to == UB else 1, dst_bytes), POISON, np.uint8) if before is None else before.copy()
    fb, quant_at, one_word, one_slope = np.zeros(4096, np.uint8), 0, 0, 0
    if words is not None and np.ndim(words):
        quant_at = 64
        fb[64:64 + 8 * len(words)] = np.array(words, np.uint64).view(np.uint8)
    elif words is not None:
        one_word = words
    if slopes is not None and np.ndim(slopes):
        slope_at = 3072
        fb[slope_at:slope_at + 4 * len(slopes)] = np.array(slopes, np.float32).view(np.uint8)
    elif slopes is not None:
        one_slope = np.float32(slopes).view(np.int32)
    launch("drain", image, fb, dst, numbers=[
        to, is_int, n, m, dst_stride, src_stride, sub_block, dual, unit_flag, mode, relu, layout == "split", layout == "nd", layout == "dn",
        clip is not None, offset, one_word, quant_at if fb_at is None else fb_at, one_slope, slope_at, 0 if clip is None else np.float32(clip).view(np.int32), c0_stride, *matrices,
        atomic, image.nbytes, len(fb), dst_bytes])
    return dst


def strides_and_bytes(layout, m, n, size):
    """A destination stride with a gap, and bytes enough for it."""
    if layout == "nd":
        return n + 3, m * (n + 3) * size + 64
    if layout == "dn":
        return m + 2, n * (m + 2) * size + 64
    width = 8 if layout == "split" else 32 if size == 1 else 16
    stride = -(-m * width * size // 32) + 1
    return stride, -(-n // width) * stride * 32 + 64


def check(acc, mode=0, layout="nd", to=UB, relu=0, clip=None, words=None, slopes=None, **more):
    m, n = acc.shape
    is_int = acc.dtype == np.int32
    size = BYTES.get(MODES[mode][2], 1)
    dst_stride, dst_bytes = strides_and_bytes(layout, m, n, size)
    src_stride = -(-m // 16) * 16 + 2
    dst = drain(in_l0c(acc, src_stride), n, m, is_int=is_int, to=to, dst_stride=dst_stride, src_stride=src_stride, dst_bytes=dst_bytes, mode=mode,
                relu=relu, layout=layout, clip=clip, words=words, slopes=slopes, **more)
    want = np.full_like(dst, POISON)
    place(want[0], converted(acc, mode, relu, clip, words, slopes), layout, dst_stride)
    same = dst == want
    assert same.all(), f"{np.count_nonzero(~same)} bytes differ, the first at {np.argwhere(~same)[0]}: {dst[~same][:4]}, expected {want[~same][:4]}"


def scales_of(mode, n, seed=0):
    """A word, or one a column, with offsets of both signs; all of them select the same sign."""
    if not MODES[mode][3]:
        return None
    rng = np.random.default_rng(seed)
    factor = 2.0**-20 if MODES[mode][1] else 1.0
    words = [word(factor * scale, int(offset)) for scale, offset in zip(rng.uniform(0.01, 3, n), rng.integers(-256, 256, n), strict=True)]
    return words if MODES[mode][4] else words[0]


def accumulator(mode, m, n, seed=0):
    return int32(m, n, seed) if MODES[mode][1] else fp32(m, n, seed)


ORACLE_MODES = [mode for mode in MODES if MODES[mode][2] != "hif8_hybrid"]


# ---- conversions --------------------------------------------------------------------------------------------------------

@edges("values ties", "asc_copy_l0c2ub")
@pytest.mark.parametrize("mode", ORACLE_MODES, ids=lambda mode: MODES[mode][0])
def test_every_mode_converts_every_kind_of_value(mode):
    check(accumulator(mode, 33, 40), mode, words=scales_of(mode, 40))


@pytest.mark.parametrize("mode", ORACLE_MODES, ids=lambda mode: MODES[mode][0])
@pytest.mark.parametrize("relu", [RELU, LEAKY, PRELU], ids=["relu", "leaky", "prelu"])
def test_the_activation_follows_the_scale(mode, relu):
    slopes = {RELU: None, LEAKY: 0.30001, PRELU: np.linspace(-2, 2, 17)}[relu]
    check(accumulator(mode, 16, 17, 1), mode, relu=relu, slopes=slopes, words=scales_of(mode, 17, 1))


@pytest.mark.parametrize("mode", ORACLE_MODES, ids=lambda mode: MODES[mode][0])
def test_clip_limits_what_the_activation_gives(mode):
    check(accumulator(mode, 9, 31, 2), mode, relu=RELU, clip=6.0, words=scales_of(mode, 31, 2))


@pytest.mark.parametrize("relu", [0, RELU])
def test_int32_results_stay_as_they_are(relu):
    check(int32(17, 33), relu=relu)


def test_fp32_results_keep_the_bits_of_everything_but_signalling_nan():
    acc = np.random.default_rng(3).integers(0, 2**32, (16, 64), dtype=np.uint64).astype(np.uint32)
    acc[(acc & 0x7fffffff) > 0x7f800000] |= 0x400000
    check(acc.view(np.float32))


@edges("values ties", "asc_set_l0c_copy_quant")
@pytest.mark.parametrize("offset", [-256, -1, 0, 1, 255])
@pytest.mark.parametrize("signed", [True, False], ids=["s8", "u8"])
@pytest.mark.parametrize("mode", [9, 24], ids=["REQ8", "QF322B8"])
def test_8_bit_integers_saturate_after_the_offset(mode, signed, offset):
    acc = np.arange(-600, 600, dtype=np.int32).reshape(48, 25)
    check(acc if mode == 9 else (acc / 2).astype(np.float32), mode, words=word(0.5, offset, signed))


def test_the_scale_has_ten_mantissa_bits():
    scale = np.uint32(0x3f801fff).view(np.float32)
    acc = np.ones((1, 1), np.float32)
    dst = drain(in_l0c(acc, 16), 1, 1, dst_stride=1, src_stride=16, dst_bytes=64, mode=15, words=int(scale.view(np.uint32)))
    assert dst[0, :4].view(np.float32) == 1.0


@pytest.mark.parametrize("mode", [4, 5], ids=["V", "scalar"])
def test_hybrid_hif8_is_half_away_where_the_mantissa_is_long_and_a_neighbour_elsewhere(mode):
    acc = fp32(64, 64, 5)
    words = [word(1.0)] * 64 if mode == 4 else word(1.0)
    got = HIF8[drain(in_l0c(acc, 64), 64, 64, dst_stride=64, src_stride=64, dst_bytes=4096, mode=mode, words=words)[0]].reshape(64, 64)
    away = HIF8[hif8(acc)]
    size = np.nan_to_num(np.abs(acc.astype(np.float64)), nan=0.0, posinf=0.0)
    long = (size >= 2.0**-3) & (size < 15)
    assert (got[long] == away[long]).all()
    steps = np.sort(HIF8[:128][np.isfinite(HIF8[:128])])
    inside = (size > 0) & (size < steps[-1])
    at = np.searchsorted(steps, size[inside], side="right")
    assert ((np.abs(got[inside]) == steps[at - 1]) | (np.abs(got[inside]) == steps[at])).all()
    assert (got[inside] != away[inside]).any()


def test_a_parameter_set_while_fix_waits_is_for_the_copies_behind_it():
    acc, dst = fp32(16, 16, 6), np.zeros((2, 16, 16), np.float32)
    launch("late_parameters", in_l0c(acc, 16), dst, numbers=[word(2.0), word(0.25)])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(dst, [acc * np.float32(2), acc * np.float32(0.25)])


def same_values(got, want, mode):
    """Bytes of results: equal, or NaN of floats on both sides."""
    result = MODES[mode][2]
    dtype = {"f32": np.float32, None: np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}.get(result)
    if dtype is None:
        return got == want
    got, want = (np.ascontiguousarray(x).view(dtype).astype(np.float32) for x in (got, want))
    return (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))


def check_dense(acc, mode, **options):
    m, n = acc.shape
    size = BYTES.get(MODES[mode][2], 1)
    dst = drain(in_l0c(acc, 64), n, m, is_int=acc.dtype == np.int32, dst_stride=n, src_stride=64, dst_bytes=-(-m * n * size // 64) * 64, mode=mode, **options)
    known = {key: options.get(key) for key in ("relu", "clip", "words", "slopes")}
    want = converted(acc, mode, known["relu"] or 0, known["clip"], known["words"], known["slopes"])
    got = dst[0, :m * n * size].reshape(m, n, size)
    ok = same_values(got, want, mode)
    assert ok.all(), (MODES[mode][0], options, np.argwhere(~ok)[:3], acc[tuple(np.argwhere(~ok)[0][:2])])


def edge_accumulator(mode):
    """A column of all edges, repeated over 16 columns."""
    values = np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**24 + 1, 127, -129], np.int32) if MODES[mode][1] else np.array(EDGES, np.float32)
    return np.repeat(values[:, None], 16, axis=1)


SCALES = [1.0, 0.0, -0.0, -1.0, 3.0, np.inf, -np.inf, np.nan, 3.4e38, 2.0**-126, 2.0**-130, 2.0**-140, 0.5, 448.0, 2.0**-20, -3.0]


@edges("values ties", "asc_copy_l0c2{ub,gm,l1}")
@edges("values", "asc_set_l0c_copy_quant asc_set_l0c_copy_quant_vector")
@pytest.mark.parametrize("mode", [mode for mode in ORACLE_MODES if MODES[mode][3]], ids=lambda mode: MODES[mode][0])
def test_every_scale_times_every_edge(mode):
    if MODES[mode][4]:
        return check_dense(edge_accumulator(mode), mode, words=[word(scale, 0) for scale in SCALES])
    for scale in SCALES:
        check_dense(edge_accumulator(mode), mode, words=word(scale, 0))


@edges("values", "asc_set_l0c_copy_leaky_relu asc_set_l0c_copy_prelu_vector")
@pytest.mark.parametrize("mode", [0, 1, 16], ids=lambda mode: MODES[mode][0])
def test_every_slope_times_every_edge(mode):
    check_dense(edge_accumulator(mode), mode, relu=PRELU, slopes=np.array(SCALES, np.float32))
    for slope in SCALES:
        if np.float32(slope).view(np.uint32):           # the kernel takes 0 for "none set", which is 0 as well
            check_dense(edge_accumulator(mode), mode, relu=LEAKY, slopes=np.float32(slope))
    check_dense(edge_accumulator(mode), mode, relu=LEAKY, slopes=np.float32(0))


@edges("values", "asc_set_l0c_copy_clip")
@pytest.mark.parametrize("mode", [0, 1, 16, 13], ids=lambda mode: MODES[mode][0])
@pytest.mark.parametrize("relu", [0, RELU])
def test_every_limit_of_every_edge(mode, relu):
    for limit in (1.0, -1.0, np.inf, -np.inf, np.nan, 3.4028235e38, 2.0**-149, 1e30):
        check_dense(edge_accumulator(mode), mode, relu=relu, clip=limit, words=word(1.0) if MODES[mode][3] else None)


@edges("strides", "asc_copy_l0c2{ub,gm,l1}")
@pytest.mark.parametrize("to", [UB, GM, L1], ids=["ub", "gm", "l1"])
@pytest.mark.parametrize("layout", ["nd", "dn", "nz"])
def test_strides_of_zero_repeat_blocks_or_leave_the_last_row(to, layout):
    acc = fp32(16, 32, 3)
    dst = drain(in_l0c(acc, 16), 32, 16, to=to, dst_stride=0, src_stride=16, dst_bytes=4096, layout=layout)[0]
    codes = converted(acc, 0)
    last = {"nd": codes[-1], "dn": codes[:, -1], "nz": codes[:, 16:]}[layout].reshape(-1)
    assert (dst[:len(last)] == last).all() and (dst[len(last):] == POISON).all()
    dst = drain(in_l0c(acc, 16), 32, 16, to=to, dst_stride=32, src_stride=0, dst_bytes=4096, layout="nd")[0]
    assert (dst[:2048].reshape(16, 2, 64) == codes[:, None, :16].reshape(16, 1, 64)).all()


@edges("sizes bounds", "asc_copy_l0c2{ub,gm,l1}")
@pytest.mark.parametrize("to, room", [(UB, 256 << 10), (GM, 256 << 10), (L1, 512 << 10)], ids=["ub", "gm", "l1"])
def test_all_of_l0c_and_the_last_byte_of_the_destination(to, room):
    for m, n in ((4096, 16), (16, 4080)):
        acc = fp32(m, n, 1)
        dst = drain(in_l0c(acc, m), n, m, to=to, dst_stride=n, src_stride=m, dst_bytes=m * n * 4)[0]
        assert (dst.reshape(m, n, 4) == converted(acc, 0)).all(), (m, n)
    acc = fp32(2, 16)
    if to != GM:
        drain(in_l0c(acc, 16), 16, 2, to=to, dst_stride=16, src_stride=16, dst_bytes=64, offset=room - 128)
        with pytest.raises(LaunchError, match=f"the memory ends at {room:#x}"):
            drain(in_l0c(acc, 16), 16, 2, to=to, dst_stride=16, src_stride=16, dst_bytes=64, offset=room - 96)
    for m, n in ((0, 16), (2, 0)):
        assert (drain(in_l0c(acc, 16), n, m, to=to, dst_stride=16, src_stride=16, dst_bytes=128) == POISON).all()


@edges("strides", "asc_set_l0c_copy_nz_para asc_set_l0c_copy_c0_stride")
@pytest.mark.parametrize("count, rows, elements", [(0, 0, 0), (1, 7, 9), (2, 0, 512), (3, 16, 0), (2, 16, 256)])
def test_one_matrix_several_times_and_several_into_one_place(count, rows, elements):
    parts = [fp32(16, 16, seed) for seed in range(3)]
    image = np.concatenate([in_l0c(part, 16) for part in parts])
    dst, want = drain(image, 16, 16, dst_stride=16, src_stride=16, dst_bytes=4096, matrices=(count, rows, elements), c0_stride=1)[0], np.full(4096, POISON, np.uint8)
    for number in range(max(count, 1)):
        want[number * elements * 4:][:1024] = converted(parts[number if rows and count > 1 else 0], 0).reshape(-1)
    assert (dst == want).all()


# ---- layouts ------------------------------------------------------------------------------------------------------------

SIZES = [(1, 1), (15, 16), (16, 17), (17, 15), (33, 64), (5, 33)]


@edges("sizes strides", "asc_copy_l0c2{ub,gm,l1}")
@pytest.mark.parametrize("to", [UB, GM, L1], ids=["ub", "gm", "l1"])
@pytest.mark.parametrize("layout", ["nd", "dn", "nz"])
@pytest.mark.parametrize("mode", [0, 1, 24, 13], ids=["fp32", "f16", "b8_merges_channels", "e4m3_merges_channels"])
def test_layouts_place_live_elements_and_nothing_else(to, layout, mode):
    for m, n in SIZES:
        check(fp32(m, n, m), mode, layout, to, words=scales_of(mode, n))


@pytest.mark.parametrize("to", [UB, GM, L1], ids=["ub", "gm", "l1"])
def test_channel_split_makes_blocks_of_8_columns(to):
    for m, n in SIZES:
        check(fp32(m, n), 0, "split", to)
        check(int32(m, n), 0, "split", to)
        check(fp32(m, n), 15, "split", to, words=word(0.7))


@edges("strides", "asc_set_l0c_copy_c0_stride")
@pytest.mark.parametrize("c0_stride", [1, 2, 5])
def test_nz2dn_reads_every_nth_row(c0_stride):
    acc, src_stride = fp32(9, 20), 64
    dst = drain(in_l0c(acc, src_stride, c0_stride), 20, 9, to=GM, dst_stride=9, src_stride=src_stride, dst_bytes=720, layout="dn", c0_stride=c0_stride)
    want = np.full(720, POISON, np.uint8)
    place(want, converted(acc, 0), "dn", 9)
    assert (dst == want).all()


@edges("strides", "asc_set_l0c_copy_nz_para")
@pytest.mark.parametrize("to", [UB, GM, L1], ids=["ub", "gm", "l1"])
@pytest.mark.parametrize("layout", ["nd", "dn"])
@pytest.mark.parametrize("mode", [0, 16, 13], ids=["fp32", "bf16", "e4m3"])
def test_several_matrices_follow_each_other(to, layout, mode):
    m, n, count, rows, elements = 7, 18, 3, 48, 1024
    words, size = scales_of(mode, n), BYTES.get(MODES[mode][2], 1)
    parts = [fp32(m, n, seed) for seed in range(count)]
    image = np.full(((count - 1) * rows + 16 + m) * 16, 0x7fc0a5a5, np.uint32)
    for number, part in enumerate(parts):
        one = in_l0c(part, 16)
        known = one != 0x7fc0a5a5
        image[number * rows * 16:][:len(one)][known] = one[known]
    dst = drain(image, n, m, to=to, dst_stride=32, src_stride=16, dst_bytes=count * elements * 4, mode=mode, layout=layout, words=words,
                matrices=(count, rows, elements))
    want = np.full_like(dst, POISON)
    for number, part in enumerate(parts):
        place(want[0], converted(part, mode, words=words), layout, 32, number * elements * size)
    assert (dst == want).all()


def test_unit_flags_of_several_matrices_are_waited_for_and_cleared():
    a, dst = np.random.default_rng(9).integers(-4, 5, (2, 16, 16)).astype(np.float16), np.zeros((2, 16, 16), np.float32)
    launch("two_matrices", a, dst, numbers=[64])
    assert (dst == a.astype(np.float32) @ a[0].astype(np.float32).T).all()


@pytest.mark.parametrize("layout", ["nd", "nz", "split"])
@pytest.mark.parametrize("dual", [1, 2], ids=["rows", "columns"])
@pytest.mark.parametrize("kind", [fp32, int32])
def test_a_dual_destination_splits_over_both_vector_cores(layout, dual, kind):
    acc = kind(18, 64)
    halves = np.split(acc, 2, axis=dual - 1)
    dst_stride, dst_bytes = strides_and_bytes(layout, *halves[0].shape, 4)
    dst = drain(in_l0c(acc, 32), 64, 18, is_int=kind is int32, dual=dual, dst_stride=dst_stride, src_stride=32, dst_bytes=dst_bytes, layout=layout)
    want = np.full_like(dst, POISON)
    for core, half in enumerate(halves):
        place(want[core], converted(half, 0), layout, dst_stride)
    assert (dst == want).all()


@pytest.mark.parametrize("sub_block", [0, 1])
def test_one_destination_is_the_named_vector_core(sub_block):
    acc = fp32(4, 16)
    dst = drain(in_l0c(acc, 16), 16, 4, dst_stride=16, src_stride=16, dst_bytes=512, sub_block=sub_block, offset=128)
    assert (dst[1 - sub_block] == POISON).all()
    assert (dst[sub_block, 128:384] == converted(acc, 0).reshape(-1)).all() and (dst[sub_block, 384:] == POISON).all()


# ---- atomics ------------------------------------------------------------------------------------------------------------

ATOMICS = {"float": (0, None, np.float32), "half": (1, 1, np.float16), "bfloat16": (2, 16, ml_dtypes.bfloat16), "int8": (3, 9, np.int8),
           "int16": (4, 1, np.int16), "int32": (5, None, np.int32)}


@pytest.mark.parametrize("layout", ["nd", "dn", "nz"])
@pytest.mark.parametrize("operation", ["add", "max", "min"])
@pytest.mark.parametrize("kind", ATOMICS)
def test_store_atomics_combine_with_what_is_there(kind, operation, layout):
    index, mode, dtype = ATOMICS[kind]
    mode, m, n = mode or 0, 17, 33
    is_int = kind in ("int8", "int32")
    acc = (np.random.default_rng(7).integers(-60, 60, (m, n)) * (1 if is_int else 0.5)).astype(np.int32 if is_int else np.float32)
    words = word(1.0) if mode == 9 else None
    size = np.dtype(dtype).itemsize
    dst_stride, dst_bytes = strides_and_bytes(layout, m, n, size)
    dst_bytes = -(-dst_bytes // 64) * 64
    if np.dtype(dtype).kind == "i":
        before = np.random.default_rng(8).integers(-60, 60, dst_bytes // size).astype(dtype)
    else:
        before = (np.random.default_rng(8).integers(-60, 60, dst_bytes // size) / 4).astype(dtype)
    dst = drain(in_l0c(acc, 32), n, m, is_int=is_int, to=GM, dst_stride=dst_stride, src_stride=32, dst_bytes=dst_bytes, mode=mode, layout=layout,
                words=words, atomic=["add", "max", "min"].index(operation) * 6 + index + 1, before=before.view(np.uint8)[None])
    stored = np.zeros(dst_bytes, np.uint8)
    touched = np.zeros(dst_bytes, np.uint8)
    codes = converted(acc, mode, words=words)
    place(stored, codes, layout, dst_stride)
    place(touched, np.full_like(codes, 1), layout, dst_stride)
    with np.errstate(all="ignore"):
        combined = {"add": np.add, "max": np.maximum, "min": np.minimum}[operation](before, stored.view(dtype)).astype(dtype)
    want = np.where(touched == 1, combined.view(np.uint8), before.view(np.uint8))
    assert (dst[0] == want).all()


# ---- time ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, cycles", [
    ({}, 2 + 64 * 64 / 32 + 58),                                        # 128 B a cycle
    ({"mode": 16}, 2 + 64 * 64 / 64 + 58),
    ({"mode": 24, "words": word(1.0)}, 2 + 64 * 64 / 64 + 58),          # 64 elements, not 128
    ({"mode": 13, "words": word(1.0), "layout": "nz"}, 2 + 64 * 64 / 64 + 58),
    ({"to": L1, "layout": "split", "dst_stride": 64}, 2 + 64 * 64 / 32 + 58),
    ({"layout": "dn"}, 2 + 64 * 64 / 32 + 58),
    ({"layout": "dn", "c0_stride": 2}, 2 + 64 * 64 / 8 + 58),           # a quarter: 8 fp32,
    ({"layout": "dn", "c0_stride": 2, "mode": 1}, 2 + 64 * 64 / 16 + 58),       # 16 halves
    ({"layout": "dn", "c0_stride": 2, "mode": 24, "words": word(1.0)}, 2 + 64 * 64 / 16 + 58),      # or bytes
    ({"dual": 1}, 2 + 64 * 64 / 64 + 55),
    ({"matrices": (3, 256, 4096)}, 2 + 3 * 64 * 64 / 32 + 58),
])
def test_time_is_bytes_or_elements_of_the_destination(arguments, cycles, tmp_path):
    given = {"dst_stride": 64, "src_stride": 128, "dst_bytes": 65536, **arguments}
    target = "asc_copy_l0c2l1" if given.get("to") == L1 else "asc_copy_l0c2ub"
    spent = cycles_of(target, lambda: drain(np.zeros(65536, np.uint32), 64, 64, **given), tmp_path)
    assert spent == [pytest.approx(cycles, abs=0.3)]


# ---- rules --------------------------------------------------------------------------------------------------------------

@edges("bounds", "asc_copy_l0c2{ub,gm,l1} asc_set_l0c_copy_{nz_para,c0_stride,quant_vector,prelu_vector}")
@pytest.mark.parametrize("arguments, message", [
    ({"mode": 7}, "quant mode 7; available are 0 NONE, 1 F322F16, 2 VQF322HIF8, .*16 F322BF16.*37 QS322BF16"),
    ({"mode": 9}, r"quant mode 9 \(REQ8\) converts int32; the accumulator holds fp32"),
    ({"mode": 1, "is_int": True}, r"quant mode 1 \(F322F16\) converts fp32; the accumulator holds int32"),
    ({"relu": 4}, "relu mode 4; available are 0 none, 1 relu, 2 one slope, 3 a slope a column"),
    ({"is_int": True, "relu": 2}, "int32 results take ReLU only"),
    ({"dual": 1, "mode": 1}, "a dual destination allows neither conversion nor ReLU"),
    ({"dual": 1, "relu": 1}, "a dual destination allows neither conversion nor ReLU"),
    ({"dual": 1, "layout": "dn"}, "a dual destination takes NZ and row-major results"),
    ({"dual": 1, "m": 15}, "m = 15; splitting rows needs an even m"),
    ({"dual": 2, "n": 16}, "n = 16; splitting columns needs a multiple of 32"),
    ({"layout": "split", "mode": 1}, "channel split takes 4-byte results in NZ order"),
    ({"layout": "nz", "matrices": (2, 16, 512)}, "several matrices go with nz2nd or nz2dn"),
    ({"unit_flag": 1}, "unit flag 1; accepted are 0 off, 2 wait, 3 wait and flip"),
    ({"layout": "dn", "c0_stride": 2, "unit_flag": 3}, "unit flags with a C0 stride"),
    ({"to": GM, "atomic": 1, "mode": 1}, "the armed store atomic takes 4-byte elements; the results have 2 bytes"),
    ({"m": 8192}, "m = 8192; the field holds 0 to 8191"),
    ({"m": -1}, "m = -1; the field holds 0 to 8191"),
    ({"n": 4096}, "n = 4096; the field holds 0 to 4095"),
    ({"dst_stride": -1}, "dst_stride = -1; the field holds 0 to 4294967295"),
    ({"dst_stride": 2**32}, "dst_stride = 4294967296; the field holds 0 to 4294967295"),
    ({"dst_stride": 2**32 - 1}, "destination: UB0 addresses 0x0 to 0x.*; the memory ends at 0x40000"),
    ({"dst_stride": -1, "to": L1}, "asc_copy_l0c2l1: dst_stride = -1"),
    ({"dst_stride": -1, "to": GM}, "asc_copy_l0c2gm: dst_stride = -1"),
    ({"src_stride": -1}, "src_stride = -1; the field holds 0 to 65535"),
    ({"src_stride": 65536}, "src_stride = 65536; the field holds 0 to 65535"),
    ({"sub_block": 2}, "sub_block = 2; the field holds 0 to 1"),
    ({"dual": 3}, "dual destination = 3; the field holds 0 to 2"),
    ({"matrices": (65536, 0, 0)}, "asc_set_l0c_copy_nz_para: count = 65536; the field holds 0 to 65535"),
    ({"matrices": (1, 4097, 0)}, "asc_set_l0c_copy_nz_para: src_stride = 4097; the field holds 0 to 4096"),
    ({"matrices": (1, 0, 2**32)}, "asc_set_l0c_copy_nz_para: dst_stride = 4294967296; the field holds 0 to 4294967295"),
    ({"matrices": (2, 0, 2**32 - 1)}, "destination: UB0 addresses 0x0 to 0x.*; the memory ends at 0x40000"),
    ({"c0_stride": 4096}, "asc_set_l0c_copy_c0_stride: rows = 4096; the field holds 0 to 4095"),
    ({"c0_stride": -1}, "asc_set_l0c_copy_c0_stride: rows = -1; the field holds 0 to 4095"),
    ({"c0_stride": 4095, "layout": "dn"}, "source: L0C addresses 0x0 to 0x.*; the memory ends at 0x40000"),
    ({"mode": 14, "fb_at": 4096}, "quantisation words of 32 columns at FB address 0x1000"),
    ({"mode": 14, "fb_at": -64}, "quantisation words of 32 columns at FB address 0xffffffffffffffc0"),
    ({"mode": 14, "fb_at": 32}, "quantisation words of 32 columns at FB address 0x20; it is 64-byte aligned"),
    ({"relu": PRELU, "slope_at": 4032}, "PReLU slopes of 32 columns at FB address 0xfc0"),
    ({"relu": PRELU, "slope_at": -64}, "PReLU slopes of 32 columns at FB address 0xffffffffffffffc0"),
    ({"mode": 14, "fb_at": 4032}, "quantisation words of 32 columns at FB address 0xfc0; it is 64-byte aligned and FB ends at 0x1000"),
    ({"src_stride": 4096}, "source: L0C addresses 0x0 to 0x40400; the memory ends at 0x40000"),
    ({"m": 17, "to": GM}, "source: L0C address 0x800 holds undefined data"),
    ({"to": GM, "dst_stride": 1 << 20}, "destination: global memory .* leaves its tensor"),
    ({"offset": 16}, "destination: UB0 address 0x10 is not 32-byte aligned"),
])
def test_what_fix_does_not_do_is_refused(arguments, message):
    given = {"n": 32, "m": 16, "dst_stride": 32, "src_stride": 16, "dst_bytes": 8192, **arguments}
    acc = np.zeros((16, 32), np.float32)
    with pytest.raises(LaunchError, match=message):
        drain(in_l0c(acc, 16), given.pop("n"), given.pop("m"), **given)


@pytest.mark.parametrize("size", [(0, 16), (16, 0)])
def test_nothing_to_move_is_no_operation(size):
    dst = drain(np.zeros(16, np.uint32), *size, to=GM, dst_stride=16, src_stride=16, dst_bytes=256)
    assert (dst == POISON).all()
