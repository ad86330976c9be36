# SPDX-License-Identifier: MIT
"""Does an MMAD multiply what its operands mean? Every dtype from global memory through L1, L0, L0C and back; everything not live is NaN."""

import numpy as np
import pytest
from ascend_sim import LaunchError
from support.cube import BITS, FLOATS, HIF8, cycles_of, decode, encode_exactly, host_level, launch, row_bytes
from support.edges import edges
from support.simd import edge_values

pytestmark = pytest.mark.usefixtures(host_level.__name__)

TYPES = [("bf16", "bf16"), ("f16", "f16"), ("f32", "f32"), ("s8", "s8"), ("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("e5m2", "e4m3"),
         ("hif8", "hif8"), ("e2m1", "e2m1"), ("e1m2", "e1m2"), ("e2m1", "e1m2"), ("e1m2", "e2m1"), ("hif8", "e4m3"), ("f16", "bf16"),
         ("bf16", "bf16 with scales")]          # in the order of cube_kernels.cpp; the last three do not exist
PLAIN = TYPES[:9]
MX = TYPES[4:8] + TYPES[9:13]
BIAS = {"f32": 0, "f16": 1, "bf16": 2, "s32": 3}


def names(pairs):
    return [a if a == b else f"{a}*{b}" for a, b in pairs]


def multiply(types, a, b, *, scales=None, bias=None, bias_type="f32", bias_address=0, repeat=0, hf32=0, unit_flag=0, fix_flag=None, init=True,
             l0c=0, size=None):
    """C of codes a [m, k], b [n, k]; fp32, or int32 for int8."""
    m, n, k = size or (len(a), len(b), a.shape[1])
    shape, is_int = (max(m, 0), max(n, 0)), types[0] == "s8"
    out = np.full(shape, -77, np.int32) if is_int else np.full(shape, np.nan, np.float32)
    packed_a, packed_b = row_bytes(types[0], a), row_bytes(types[1].split()[0], b)
    units = -(-packed_a.shape[1] // 32)
    none = np.zeros(32, np.uint8)
    sa, sb = [scale_fractals(s) for s in scales] if scales else (none, none)
    table = none if bias is None else bias.astype(FLOATS[bias_type])
    launch("multiply", packed_a, packed_b, sa, sb, table, out, numbers=[
        m, k, n, unit_flag, bias is not None, init, bias_address, l0c, TYPES.index(types), scales is not None, packed_a.shape[1],
        BIAS[bias_type], hf32, units, repeat, unit_flag if fix_flag is None else fix_flag, len(a), len(b)])
    return out


def scale_fractals(scales):
    """[rows, groups] in fractals of 16 rows x 2 groups (ascend950.md 4.3); what is not live is 255, NaN."""
    rows, groups = scales.shape
    padded = np.full((-(-rows // 16) * 16, -(-groups // 2) * 2), 255, np.uint8)
    padded[:rows, :groups] = scales
    return padded.reshape(-1, 16, padded.shape[1] // 2, 2).transpose(0, 2, 1, 3).copy()


def simple_codes(name, rows, columns, seed):
    """Small values, the same in every format, whose sums of products are exact in fp32."""
    draw = np.random.default_rng(seed).integers
    if name == "s8":
        return encode_exactly(name, draw(-128, 128, (rows, columns)).astype(np.float64))
    return encode_exactly(name, draw(-3, 4, (rows, columns)) / 2)


def exact(types, a, b):
    return decode(types[0], a) @ decode(types[1], b).T


# ---- every dtype --------------------------------------------------------------------------------------------------------

@edges("sizes", "asc_mmad")
@pytest.mark.parametrize("types", PLAIN, ids=names(PLAIN))
def test_products_and_sums_are_exact_at_every_edge_of_a_fractal(types):
    k0 = 256 // BITS[types[0]]
    for m, n, k in ((1, 1, 1), (15, 17, k0 - 1), (16, 16, k0), (17, 15, k0 + 1), (33, 48, 5 * k0), (64, 1, 2)):
        a, b = simple_codes(types[0], m, k, 1), simple_codes(types[1], n, k, 2)
        assert (multiply(types, a, b) == exact(types, a, b)).all(), (m, n, k)


@edges("sizes", "asc_mmad_mx")
@pytest.mark.parametrize("types", MX, ids=names(MX))
def test_block_scales_multiply_groups_of_32(types):
    draw = np.random.default_rng(3).integers
    for m, n, k in ((1, 1, 64), (15, 17, 64), (16, 16, 128), (33, 31, 192)):
        a, b = simple_codes(types[0], m, k, 1), simple_codes(types[1], n, k, 2)
        scales = [draw(125, 130, (rows, k // 32)) for rows in (m, n)]
        wide = [decode(name, x) * np.repeat(2.0 ** (s - 127), 32, axis=1) for name, x, s in zip(types, (a, b), scales, strict=True)]
        assert (multiply(types, a, b, scales=scales) == wide[0] @ wide[1].T).all(), (m, n, k)


@edges("values", "asc_mmad asc_mmad_mx")
@pytest.mark.parametrize("name", sorted({name for pair in TYPES[:13] for name in pair}))
@pytest.mark.parametrize("side", [0, 1])
def test_every_code_is_read_as_its_value(name, side):
    """The other operand is the identity: C is the operand itself."""
    types, mx = (name, name), BITS[name] == 4
    if BITS[name] <= 8:
        codes = np.arange(2 ** BITS[name], dtype=np.uint8).reshape(-1, 16)
    else:
        bits = np.random.default_rng(4).integers(0, 2 ** BITS[name], (16, 16), dtype=np.uint64)
        codes = bits.astype(np.uint16 if BITS[name] == 16 else np.uint32)
    with np.errstate(invalid="ignore"):
        codes = np.where(np.isfinite(decode(name, codes)), codes, 0).astype(codes.dtype)
    k = 64 if mx else 16
    codes = np.pad(codes, ((0, 0), (0, k - 16)))
    identity = encode_exactly(name, np.eye(16, k))
    scales = [np.full((rows, 2), 127) for rows in ((len(codes), 16) if side == 0 else (16, len(codes)))] if mx else None
    c = multiply(types, *((codes, identity) if side == 0 else (identity, codes)), scales=scales)
    assert (c == (decode(name, codes)[:, :16] if side == 0 else decode(name, codes)[:, :16].T)).all()


def test_scales_reach_from_2_to_the_minus_127_to_2_to_the_127_and_nan():
    one = encode_exactly("e4m3", np.ones((3, 64)))
    low, high = np.array([[0, 0], [127, 127], [255, 127]]), np.array([[254, 254], [127, 127], [127, 127]])
    c = multiply(("e4m3", "e4m3"), one, one, scales=[low, high])
    want = 64 * np.array([[1, 2.0**-127, 2.0**-127], [2.0**127, 1, 1], [np.nan, np.nan, np.nan]])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(c, want.astype(np.float32))


def test_int8_sums_of_the_largest_products_are_exact():
    a, b = np.full((16, 4095), -128, np.int8).view(np.uint8), np.full((16, 4095), -128, np.int8).view(np.uint8)
    assert (multiply(("s8", "s8"), a, b) == 4095 * 128 * 128).all()


# ---- HF32 ---------------------------------------------------------------------------------------------------------------

def hf32(values, mode):
    """10 mantissa bits: by integer arithmetic on the 24-bit significand."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    scaled = mantissa * 2**11                       # 11 significant bits before the point
    rounded = np.round(scaled) if mode == 1 else np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)
    return rounded * 2.0 ** (exponent - 11)


@edges("ties", "asc_{enable,disable}_hf32 asc_set_hf32_round_mode")
@pytest.mark.parametrize("mode", [1, 2], ids=["ties_to_even", "ties_away"])
def test_hf32_rounds_both_operands(mode):
    rng = np.random.default_rng(5)
    bits = rng.integers(0x3f000000, 0x41000000, 24).astype(np.uint32)
    bits[:8] = 0x3f800000 + 0x1000 * np.arange(8)   # ties between two neighbours, and their neighbours
    bits[8:10] = 0x3fffffff, 0xbf801000
    a = b = bits.view(np.float32)
    c = multiply(("f32", "f32"), a[:, None].view(np.uint32), b[:, None].view(np.uint32), hf32=mode)
    np.testing.assert_array_equal(c, np.outer(hf32(a, mode), hf32(b, mode)))
    plain = multiply(("f32", "f32"), a[:, None].view(np.uint32), b[:, None].view(np.uint32))
    np.testing.assert_array_equal(plain, np.outer(a, b))


@edges("values ties", "asc_{enable,disable}_hf32 asc_set_hf32_round_mode asc_mmad")
@pytest.mark.parametrize("mode", [0, 1, 2], ids=["off", "ties_to_even", "ties_away"])
def test_hf32_of_every_kind_of_value(mode):
    """Times 1, one product a result. Rounding has a fixed place below 2^-126; what rounds above the largest value becomes inf."""
    bits = np.array([0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fefff, 0x7ff000, 0x7fffff, 0x800000, 0x7f7fefff, 0x7f7ff000, 0x7f7fffff, 0x7f800000,
                     0x7f800001, 0x7fc00000, 0x7f801fff, 0x3f801000, 0x3f803000], np.uint32)
    bits = np.concatenate([bits, bits | 0x80000000])
    x = bits.view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        unit = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 2.0**-200))), -126) - 10)
        steps = np.abs(x) / unit
        rounded = np.sign(x) * (np.round(steps) if mode == 1 else np.floor(steps + 0.5)) * unit
        want = (rounded if mode else x).astype(np.float32)
    want = np.where(np.isnan(x), np.float32(np.nan), np.where(np.isinf(x), x, want)).astype(np.float32)
    one = np.array([[0x3f800000]], np.uint32)
    np.testing.assert_array_equal(multiply(("f32", "f32"), bits[:, None], one, hf32=mode)[:, 0], want)
    np.testing.assert_array_equal(multiply(("f32", "f32"), one, bits[:, None], hf32=mode)[0], want)


# ---- how C begins -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("bias_type", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("n", [1, 16, 31])
def test_a_bias_starts_every_row(bias_type, n):
    types = ("bf16", "bf16")
    a, b = simple_codes("bf16", 17, 40, 1), simple_codes("bf16", n, 40, 2)
    bias = np.arange(n) - 2.5
    bias[0] = np.inf
    c = multiply(types, a, b, bias=bias, bias_type=bias_type, bias_address=1024, init=False)
    assert (c == exact(types, a, b) + bias).all()


def test_an_int32_bias_of_int8():
    a, b = simple_codes("s8", 5, 33, 1), simple_codes("s8", 17, 33, 2)
    bias = np.arange(17) * 100_000_007 - 2**30
    c = multiply(("s8", "s8"), a, b, bias=bias, bias_type="s32")
    assert (c == (exact(("s8", "s8"), a, b) + bias)).all()


def test_a_bias_of_mx_operands():
    a, b = simple_codes("e2m1", 4, 64, 1), simple_codes("e2m1", 20, 64, 2)
    scales = [np.full((rows, 2), 127) for rows in (4, 20)]
    assert (multiply(("e2m1", "e2m1"), a, b, scales=scales, bias=np.arange(20)) == exact(("e2m1", "e2m1"), a, b) + np.arange(20)).all()


@pytest.mark.parametrize("types", [("bf16", "bf16"), ("s8", "s8"), ("hif8", "hif8")], ids=["bf16", "s8", "hif8"])
def test_without_init_the_product_is_added(types):
    a, b = simple_codes(types[0], 17, 50, 1), simple_codes(types[1], 33, 50, 2)
    assert (multiply(types, a, b, repeat=2) == 3 * exact(types, a, b)).all()


def test_without_init_an_accumulator_that_nobody_wrote_is_an_error():
    a = simple_codes("bf16", 16, 16, 1)
    with pytest.raises(LaunchError, match="asc_mmad: accumulator: L0C address 0x0 holds undefined data"):
        multiply(("bf16", "bf16"), a, a, init=False)


# ---- special values (DK-MMADEDGE) ---------------------------------------------------------------------------------------

@edges("values", "asc_mmad")
@pytest.mark.parametrize("name", ["bf16", "f16", "f32", "e5m2", "hif8"])
def test_inf_and_nan_follow_ieee(name):
    inf, nan = np.inf, np.nan
    a = np.array([[inf, 1], [inf, inf], [nan, 1], [0, 1], [-inf, inf]])
    b = np.array([[0, 1], [1, 1], [1, -1], [-2, 0]])

    def codes(values):
        if name == "hif8":
            return np.vectorize(lambda v: 0x80 if np.isnan(v) else int(np.flatnonzero(HIF8 == v)[0]))(values).astype(np.uint8)
        typed = values.astype(FLOATS[name])
        return typed.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[typed.itemsize])
    with np.errstate(invalid="ignore"):
        want = (a[:, None] * b[None]).sum(axis=2)
    np.testing.assert_array_equal(multiply((name, name), codes(a), codes(b)), want)


def test_e4m3_nan_propagates_and_its_row_and_column_only():
    a = encode_exactly("e4m3", np.ones((4, 32)))
    a[2, 5], a[0, 31] = 0x7f, 0xff
    c = multiply(("e4m3", "e4m3"), a, encode_exactly("e4m3", np.ones((5, 32))))
    assert np.isnan(c[[0, 2]]).all() and (c[[1, 3]] == 32).all()


def test_overflow_gives_inf():
    a = np.array([[2.0**127, 2.0**127], [-(2.0**127), -(2.0**127)]]).astype(np.float32).view(np.uint32)
    b = np.array([[1, 1], [1, 0]]).astype(np.float32).view(np.uint32)
    np.testing.assert_array_equal(multiply(("f32", "f32"), a, b), [[np.inf, 2.0**127], [-np.inf, -(2.0**127)]])


FLOAT_TYPES = ["bf16", "f16", "f32", "e4m3", "e5m2", "hif8"]


def finite_codes(name):
    """Of a format: zeros, the two smallest and the two largest magnitudes of both signs, and powers of two; values as float64."""
    if BITS[name] <= 8:
        codes = np.arange(256, dtype=np.uint8)
    else:
        size = np.uint16 if BITS[name] == 16 else np.uint32
        ends = {"bf16": (0x7f80, 0x80), "f16": (0x7c00, 0x400), "f32": (0x7f800000, 0x800000)}[name]
        codes = np.array([0, 1, 2, ends[1] - 1, ends[1], ends[1] + 1, ends[0] - 1, ends[0] - 2, ends[0] // 2, ends[0] // 2 + 1], size)
        codes = np.concatenate([codes, codes | size(1 << BITS[name] - 1)])
    with np.errstate(invalid="ignore"):
        values = decode(name, codes)
    return codes[np.isfinite(values)], values[np.isfinite(values)]


@edges("values", "asc_mmad")
@pytest.mark.parametrize("name", FLOAT_TYPES)
def test_a_product_of_every_two_edge_values_is_rounded_once_to_fp32(name):
    """Subnormals of the operands and of the result included; beyond fp32 lies inf."""
    codes, values = finite_codes(name)
    if len(codes) > 64:
        order = np.argsort(np.abs(values), kind="stable")
        codes, values = codes[order], values[order]
        keep = np.r_[:12, len(codes) // 2 - 6:len(codes) // 2 + 6, -12:0]
        codes, values = codes[keep], values[keep]
    with np.errstate(all="ignore"):
        want = (values[:, None] * values[None]).astype(np.float32)
    got = multiply((name, name), codes[:, None], codes[:, None])
    wrong = got != want
    assert not wrong.any(), [(values[i], values[j], got[i, j], want[i, j]) for i, j in np.argwhere(wrong)[:4]]


@edges("values", "asc_mmad")
def test_int8_products_of_every_two_values_and_sums_that_wrap():
    codes = np.arange(256, dtype=np.uint8)
    values = codes.view(np.int8).astype(np.int64)
    assert (multiply(("s8", "s8"), codes[:, None], codes[:, None]) == np.outer(values, values)).all()
    a, b = np.array([[-128] * 33, [127] * 33, [-1] * 33, [0] * 33], np.int8).view(np.uint8), np.array([[-128] * 33, [127] * 33], np.int8).view(np.uint8)
    for bias in ([2**31 - 1, -(2**31)], [-(2**31), 2**31 - 1], [2**31 - 1 - 33 * 128 * 128, 0]):
        bias = np.array(bias, np.int64)
        exact_sums = exact(("s8", "s8"), a, b).astype(np.int64) + bias
        assert (multiply(("s8", "s8"), a, b, bias=bias, bias_type="s32") == exact_sums.astype(np.int32)).all()


@edges("values", "asc_mmad")
@pytest.mark.parametrize("bias_type", ["f32", "f16", "bf16"])
def test_a_bias_of_every_edge_value(bias_type, host_level):
    bias = edge_values(bias_type).astype(np.float32)
    if host_level == "amx":             # where a subnormal in C may count as zero: csrc/host/host.h
        bias = np.where(np.abs(bias) < 2.0**-126, np.float32(0), bias)
    a, b = encode_exactly("bf16", np.ones((2, 3))), encode_exactly("bf16", np.zeros((len(bias), 3)))
    np.testing.assert_array_equal(multiply(("bf16", "bf16"), a, b, bias=bias, bias_type=bias_type), np.tile(bias, (2, 1)))


@edges("values", "asc_mmad_mx")
@pytest.mark.parametrize("types", MX, ids=names(MX))
def test_every_scale_code_on_either_side(types):
    """One element that is not zero a row; the other side's scale brings the product back into range."""
    a, b = np.zeros((256, 64)), np.zeros((1, 64))
    a[:, 40] = b[0, 40] = 1
    scales = np.full((256, 2), 127), np.full((1, 2), 127)
    scales[0][:, 1] = np.arange(256)
    with np.errstate(over="ignore"):
        for shift in (100, 127, 150):
            scales[1][0, 1] = shift
            want = np.where(np.arange(256) == 255, np.nan, 2.0 ** (np.arange(256.0) - 127) * 2.0 ** (shift - 127.0)).astype(np.float32)
            operands = encode_exactly(types[0], a), encode_exactly(types[1], b)
            np.testing.assert_array_equal(multiply(types, *operands, scales=scales)[:, 0], want)
            np.testing.assert_array_equal(multiply(types[::-1], *operands[::-1], scales=scales[::-1])[0], want)


@edges("values", "asc_mmad_mx")
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_nan_and_inf_of_scaled_operands(name):
    specials = [0x7f, 0xff] if name == "e4m3" else [0x7c, 0xfc, 0x7e, 0xff]
    a = np.zeros((len(specials), 64), np.uint8)
    a[:, 5] = specials
    scales = [np.full((rows, 2), 127) for rows in (len(specials), 2)]
    b = encode_exactly(name, np.stack([np.ones(64), np.zeros(64)]))
    value = decode(name, np.array(specials, np.uint8))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(multiply((name, name), a, b, scales=scales), np.stack([value, value * 0], 1).astype(np.float32))


# ---- time: multiply-accumulates a cycle, 25 cycles until the result is visible -------------------------------------------

@pytest.mark.parametrize("types, macs, more", [
    (("bf16", "bf16"), 4096, {}), (("f16", "f16"), 4096, {}), (("f32", "f32"), 256, {}), (("f32", "f32"), 2048, {"hf32": 1}),
    (("s8", "s8"), 8192, {}), (("e5m2", "e4m3"), 8192, {}), (("hif8", "hif8"), 8192, {}), (("e4m3", "e4m3"), 8192, {"scales": 64}),
    (("e1m2", "e2m1"), 16384, {"scales": 64})], ids=lambda x: str(x))
def test_time_follows_the_rate_of_the_dtype(types, macs, more, tmp_path):
    a, b = simple_codes(types[0], 64, 64, 1), simple_codes(types[1], 64, 64, 2)
    scales = {"scales": [np.full((64, 2), 127)] * 2} if "scales" in more else {}
    name = "asc_mmad_mx" if scales else "asc_mmad"
    spent = cycles_of(name, lambda: multiply(types, a, b, **{**more, **scales}), tmp_path)
    assert spent == [pytest.approx(64 * 64 * 64 / macs + 25, abs=0.3)]


# ---- limits and rules ---------------------------------------------------------------------------------------------------

@edges("sizes", "asc_mmad")
@pytest.mark.parametrize("size", [(0, 3, 16), (3, 0, 16)])
def test_an_empty_result_writes_nothing(size):
    a = simple_codes("bf16", 3, 16, 1)
    multiply(("bf16", "bf16"), a, a, size=size)


def test_no_k_is_no_operation_even_with_init():
    a = simple_codes("bf16", 3, 16, 1)
    with pytest.raises(LaunchError, match="asc_copy_l0c2gm: source: L0C address 0x0 holds undefined data"):
        multiply(("bf16", "bf16"), a, a, size=(3, 3, 0))


@edges("bounds", "asc_mmad asc_mmad_mx")
def test_operands_and_results_may_fill_their_memories():
    a, b = simple_codes("bf16", 2048, 16, 1), simple_codes("bf16", 16, 16, 2)
    assert (multiply(("bf16", "bf16"), a, b) == exact(("bf16", "bf16"), a, b)).all()
    assert (multiply(("bf16", "bf16"), b, a, l0c=(256 << 10) - 128 * 1024) == exact(("bf16", "bf16"), b, a)).all()
    with pytest.raises(LaunchError, match="left operand: L0A addresses 0x0 to 0x10200; the memory ends at 0x10000"):
        multiply(("bf16", "bf16"), b, b, size=(2049, 16, 16))
    with pytest.raises(LaunchError, match="destination: L0C addresses 0x3fc40 to 0x40040; the memory ends at 0x40000"):
        multiply(("bf16", "bf16"), b, b, l0c=(256 << 10) - 1024 + 64)
    a, b = simple_codes("e2m1", 17, 4032, 1), simple_codes("e1m2", 3, 4032, 2)        # the longest k of whole pairs of scales
    scales = [np.full((rows, 126), 127) for rows in (17, 3)]
    assert (multiply(("e2m1", "e1m2"), a, b, scales=scales) == exact(("e2m1", "e1m2"), a, b)).all()
    with pytest.raises(LaunchError, match="asc_mmad_mx: destination: L0C address 0x200 is not 1024-byte aligned"):
        multiply(("e2m1", "e1m2"), a, b, scales=scales, l0c=512)
    with pytest.raises(LaunchError, match="asc_mmad_mx: m = -1; the field holds 0 to 4095"):
        multiply(("e2m1", "e1m2"), a, b, scales=scales, size=(-1, 3, 64))


@edges("sizes bounds", "asc_mmad")
def test_4095_is_the_longest_k_and_fits():
    a, b = simple_codes("e4m3", 16, 4095, 1), simple_codes("e5m2", 16, 4095, 2)
    assert (multiply(("e4m3", "e5m2"), a, b) == exact(("e4m3", "e5m2"), a, b)).all()


@edges("bounds", "asc_mmad")
@pytest.mark.parametrize("axis, size", [("m", (4096, 1, 1)), ("n", (1, 4096, 1)), ("k", (1, 1, 4096)), ("m", (-1, 1, 1))])
def test_longer_fields_are_refused(axis, size):
    codes = simple_codes("bf16", 1, 1, 1)
    value = size["mnk".index(axis)]
    with pytest.raises(LaunchError, match=f"asc_mmad.*{axis} = {value}; the field holds 0 to 4095"):
        multiply(("bf16", "bf16"), codes, codes, size=size)


@pytest.mark.parametrize("types, scales, message", [
    (("hif8", "e4m3"), False, "operands hif8 x e4m3; the cube multiplies equal types, e4m3 with e5m2 and e2m1 with e1m2"),
    (("f16", "bf16"), False, "operands f16 x bf16; the cube"),
    (TYPES[15], True, "operands bf16; block scales go with e4m3, e5m2, e2m1 and e1m2"),
    (("e4m3", "e4m3"), True, "k = 32; with block scales k is a multiple of 64"),
])
def test_operands_that_the_cube_does_not_multiply_are_named(types, scales, message):
    a, b = simple_codes(types[0], 2, 32, 1), simple_codes(types[1].split()[0], 2, 32, 2)
    with pytest.raises(LaunchError, match=message):
        multiply(types, a, b, scales=[np.full((2, 1), 127)] * 2 if scales else None)


# ---- unit flags ---------------------------------------------------------------------------------------------------------

def test_unit_flags_replace_the_flag_between_the_pipes():
    a, b = simple_codes("bf16", 33, 48, 1), simple_codes("bf16", 40, 48, 2)
    assert (multiply(("bf16", "bf16"), a, b, unit_flag=3) == exact(("bf16", "bf16"), a, b)).all()


def test_fix_waits_for_a_unit_flag_that_no_mmad_sets():
    a = simple_codes("bf16", 16, 16, 1)
    with pytest.raises(LaunchError, match=r"(?s)no core can continue.*FIX.*unit flags of L0C address 0x0"):
        multiply(("bf16", "bf16"), a, a, unit_flag=2, fix_flag=3)


def test_unit_flag_1_does_not_exist():
    a = simple_codes("bf16", 16, 16, 1)
    with pytest.raises(LaunchError, match="unit flag 1; accepted are 0 off, 2 wait, 3 wait and flip"):
        multiply(("bf16", "bf16"), a, a, unit_flag=1)
