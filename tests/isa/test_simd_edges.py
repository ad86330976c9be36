# SPDX-License-Identifier: MIT
"""What do vector instructions make of edge lanes and edge values that the tables of the other files do not reach?

Which lanes are on; what lanes hold that are off; a scalar operand that is NaN, -0 or the least integer; all three operands of fused forms.
"""

import functools

import numpy as np
import pytest
from isa.test_simd_arithmetic import expected_binary, fused, numpy_min_max, rounded
from isa.test_simd_reduce import SUM_TYPE, extreme_index, summed
from support.edges import edges
from support.simd import DTYPES, FLOATS, INTS, check, edge_masks, edge_values, empty, full_mask, lanes, mask_of, operands, random_values, registers

ALL = FLOATS + INTS
SIGNED = ("s32", "s16", "s8")
# Lane-wise instructions of the harness: types, registers (beside the destination) that they read.
LANEWISE = {
    **{f"asc_{op}": (ALL, 2) for op in ("add", "sub", "mul", "max", "min", "div", "abs_sub", "select")},
    **{f"asc_{op}_scalar": (ALL, 2) for op in ("add", "mul", "max", "min")},
    "asc_abs": (FLOATS + SIGNED, 1), "asc_neg": (FLOATS + SIGNED, 1), "asc_relu": ((*FLOATS, "s32"), 1),
    **{f"asc_{op}": (FLOATS, 1) for op in ("exp", "ln", "sqrt")},
    **{f"asc_{op}": (FLOATS, 2) for op in ("exp_sub", "prelu", "leakyrelu", "axpy", "madd")},
    **{f"asc_{op}": (INTS, 2) for op in ("and", "or", "xor", "shiftleft", "shiftright", "shiftleft_scalar", "shiftright_scalar")},
    "asc_not": (INTS, 1), "vmula": (FLOATS, 2), "vmadd": (FLOATS, 2),
    **{f"asc_{op}{form}": (ALL, 2) for op in ("eq", "ne", "lt", "le", "gt", "ge") for form in ("", "_scalar")},
}


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def bits(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def worst(suffix):
    """What lanes hold that are off: NaN, or the least integer."""
    return np.array(np.nan if suffix in FLOATS else np.iinfo(DTYPES[suffix]).min).astype(DTYPES[suffix])


@edges("lanes", """asc_{add,sub,mul,max,min,div,abs_sub,select,abs,neg,relu,exp,ln,sqrt,exp_sub,prelu,leakyrelu,axpy,madd,and,or,xor,not,shiftleft,shiftright}
       asc_{add,mul,max,min,shiftleft,shiftright}_scalar vmula vmadd asc_{eq,ne,lt,le,gt,ge} asc_{eq,ne,lt,le,gt,ge}_scalar""")
@pytest.mark.parametrize("name", LANEWISE)
def test_lanes_that_are_off_give_nothing_and_disturb_nothing(simd, name):
    """The other tests say what all lanes give with every lane on."""
    types, count = LANEWISE[name]
    for suffix in types:
        sources = [np.roll(np.resize(edge_values(suffix), lanes(suffix)), 5 * i) for i in range(count + 1)]
        compares = name.split("_")[1] in ("eq", "ne", "lt", "le", "gt", "ge") if name.startswith("asc_") else False
        whole = np.zeros(256, np.uint8) if compares else sources[-1].copy()
        simd(f"{name}_{suffix}", whole, *sources[:count], full_mask())
        for on in edge_masks(suffix):
            given = [np.where(on, x, worst(suffix)) if i < count and not (i == 1 and ("scalar" in name or name in ("asc_leakyrelu", "asc_axpy"))) else x
                     for i, x in enumerate(sources)]
            got = np.zeros(256, np.uint8) if compares else np.where(on, sources[-1], worst(suffix))
            simd(f"{name}_{suffix}", got, *given[:count], mask_of(on, 256 // lanes(suffix)))
            if compares:
                assert (got == whole & mask_of(on, 256 // lanes(suffix))).all(), suffix
            else:
                off = given[1] if name == "asc_select" else np.zeros_like(whole)
                check(got, np.where(on, whole, off), *given, what=f"{name}_{suffix}")


@edges("values", "asc_{add,mul,max,min}_scalar asc_{eq,ne,lt,le,gt,ge}_scalar asc_leakyrelu")
@pytest.mark.parametrize("suffix", ALL)
def test_every_edge_value_as_the_scalar_operand(simd, suffix):
    relation = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    for a in registers(np.concatenate([edge_values(suffix), random_values(suffix, 20, 1)])):
        for value in edge_values(suffix):
            b, got = np.full_like(a, value), empty(suffix)
            for op in ("add", "mul", "max", "min"):
                simd(f"asc_{op}_scalar_{suffix}", got, a, b, full_mask())
                check(got, expected_binary(op, a, b, suffix), a, b, what=op)
            for op, holds in relation.items():
                mask = np.zeros(256, np.uint8)
                simd(f"asc_{op}_scalar_{suffix}", mask, a, b, full_mask())
                assert (mask == mask_of(holds(a, b), a.dtype.itemsize)).all(), (op, value)
            if suffix in FLOATS:
                x = a.astype(np.float64)
                simd(f"asc_leakyrelu_{suffix}", got, a, b, full_mask())
                check(got, rounded(np.where(x > 0, x, x * float(value)), suffix), a, b, what="leakyrelu")


@functools.cache
def every_three_edges(suffix):
    """Registers of every combination of three edge values, and a * b + c of each, rounded once to fp32 and then to the type."""
    found = []
    for a, b, c in operands(suffix, 3, random_registers=1):
        sums = np.array([fused(x, y, z) for x, y, z in zip(*(v.astype(np.float32) for v in (a, b, c)))], np.float32)
        found.append((a, b, c, sums.astype(DTYPES[suffix])))
    return found


@edges("values", "asc_{madd,axpy} vmula vmadd")
@pytest.mark.parametrize("suffix", FLOATS)
def test_fused_forms_of_every_three_edge_values(simd, suffix):
    for a, b, c, want in every_three_edges(suffix):
        for op, old, x, y in (("vmula", c, a, b), ("vmadd", a, b, c), ("asc_madd", a, b, c)):      # vmula adds the destination, the others multiply it
            got = old.copy()
            simd(f"{op}_{suffix}", got, x, y, full_mask())
            check(got, want, a, b, c, what=op)
    factors, n = edge_values(suffix), lanes(suffix)
    a, c = np.resize(factors, n), np.resize(np.repeat(factors[::3], len(factors)), n)
    for value in factors:
        got = c.copy()
        simd(f"asc_axpy_{suffix}", got, a, np.full_like(a, value), full_mask())
        check(got, sums_of(a.tobytes(), float(value), c.tobytes(), suffix), a, c, what=f"axpy {value}")


@functools.cache
def sums_of(a, b, c, suffix):
    a, c = (np.frombuffer(x, DTYPES[suffix]).astype(np.float32) for x in (a, c))
    return np.array([fused(x, np.float32(b), y) for x, y in zip(a, c)], np.float32).astype(DTYPES[suffix])


@edges("values", "asc_div")
@pytest.mark.parametrize("suffix", INTS)
def test_integer_division_of_every_pair_of_edges(simd, suffix):
    width = 8 * np.dtype(DTYPES[suffix]).itemsize
    for a, b in operands(suffix, 2):
        got = empty(suffix)
        simd(f"asc_div_{suffix}", got, a, b, full_mask())
        quotients = [-1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a.tolist(), b.tolist())]
        check(got, np.array([q % 2**width for q in quotients], f"u{width // 8}").view(a.dtype), a, b)


@edges("values", "asc_{abs_sub,neg,abs}")
@pytest.mark.parametrize("suffix", INTS)
def test_differences_and_signs_of_integers_wrap(simd, suffix):
    width = 8 * np.dtype(DTYPES[suffix]).itemsize

    def wrapped(values):
        return np.array([v % 2**width for v in values], f"u{width // 8}").view(DTYPES[suffix])
    for a, b in operands(suffix, 2):
        got = empty(suffix)
        simd(f"asc_abs_sub_{suffix}", got, a, b, full_mask())
        check(got, wrapped([abs(x - y) for x, y in zip(a.tolist(), b.tolist())]), a, b, what="abs_sub")
        if suffix in SIGNED:
            simd(f"asc_neg_{suffix}", got, a, full_mask())
            check(got, wrapped([-x for x in a.tolist()]), a, what="neg")
            simd(f"asc_abs_{suffix}", got, a, full_mask())
            check(got, wrapped([abs(x) for x in a.tolist()]), a, what="abs")


@edges("values", "asc_shift{left,right}_scalar")
@pytest.mark.parametrize("suffix", INTS)
def test_a_scalar_count_of_a_wider_type_is_not_cut_to_the_lane(simd, suffix):
    a = registers(edge_values(suffix))[0]
    width, is_signed = 8 * a.dtype.itemsize, a.dtype.kind == "i"
    for count in (0, 1, width - 1, width, width + 1, 255, 256, 257, 65536, 2**31 - 1, -1, -256):
        far = not 0 <= count < width
        got = empty(suffix)
        simd(f"asc_shiftleft_scalar_by_int_{suffix}", got, a, full_mask(), count)
        check(got, np.zeros_like(a) if far else np.left_shift(a, a.dtype.type(count)), a, what=f"left by {count}")
        simd(f"asc_shiftright_scalar_by_int_{suffix}", got, a, full_mask(), count)
        check(got, np.right_shift(a, a.dtype.type(width - 1 if far and is_signed else 0 if far else count)) * (0 if far and not is_signed else 1),
              a, what=f"right by {count}")


@edges("values", "asc_shift{left,right} asc_{max,min,eq,ne,lt,le,gt,ge,and,or,xor,not,select,add,sub,mul}")
@pytest.mark.parametrize("suffix", INTS)
def test_every_count_of_a_shift_by_lanes(simd, suffix):
    a, count = (np.ascontiguousarray(x) for x in operands(suffix, 2)[0])
    width = 8 * a.dtype.itemsize
    for a, count in operands(suffix, 2, random_registers=1):
        far = [not 0 <= c < width for c in count.tolist()]
        got = empty(suffix)
        simd(f"asc_shiftleft_{suffix}", got, a, count, full_mask())
        left = [0 if f else x << c for x, c, f in zip(a.tolist(), count.tolist(), far)]
        check(got, np.array([v % 2**width for v in left], f"u{width // 8}").view(a.dtype), a, count, what="left")
        simd(f"asc_shiftright_{suffix}", got, a, count, full_mask())
        check(got, np.array([x >> (width if f else c) for x, c, f in zip(a.tolist(), count.tolist(), far)], a.dtype), a, count, what="right")


# ---- reductions ---------------------------------------------------------------------------------------------------------

def telling_registers(suffix):
    """Registers that show what a reduction does with zeros, infinities, NaN, overflow and ties."""
    n, dtype = lanes(suffix), DTYPES[suffix]
    if suffix in FLOATS:
        top, tiny = float(edge_values(suffix)[8]), float(edge_values(suffix)[4])
        patterns = ([-0.0], [0.0], [-0.0, 0.0], [0.0, -0.0], [tiny, -tiny], [tiny], [np.inf, 1], [-np.inf, 1], [np.inf, -np.inf], [1, np.nan, np.inf],
                    [top, top], [top, -top], [-top, top, 1])
    else:
        info = np.iinfo(dtype)
        patterns = ([info.min], [info.max], [info.min, info.max], [info.max, info.min], [0], [0, 1], [info.max, 1], [info.min, info.min, 1])
    made = [np.resize(np.array(p).astype(dtype), n) for p in patterns]
    for place in (0, 1, n // 2, n - 1):         # one extreme lane among equals
        x = np.zeros(n, dtype)
        x[place] = 1
        made += [x, (-x.astype(np.float64)).astype(dtype) if suffix not in ("u32", "u16", "u8") else 1 - x]
    return made


@edges("values lanes", "asc_reduce_{sum,max,min} asc_reduce_{sum,max,min}_datablock asc_pair_reduce_sum")
@pytest.mark.parametrize("suffix", ALL)
def test_reductions_of_every_kind_of_register_and_mask(simd, suffix):
    n, lane_bytes = lanes(suffix), 256 // lanes(suffix)
    wide = SUM_TYPE.get(suffix, suffix)
    blocks = [slice(b * n // 8, (b + 1) * n // 8) for b in range(8)]
    neutral = {op: np.array({"max": -np.inf, "min": np.inf}[op] if suffix in FLOATS else getattr(np.iinfo(DTYPES[suffix]), {"max": "min", "min": "max"}[op]))
               .astype(DTYPES[suffix]) for op in ("max", "min")}

    def sum_of(x, on):
        if suffix in FLOATS:
            return summed(x, on, suffix)
        return np.array([int(np.where(on, x, 0).astype(np.int64).sum())]).astype(DTYPES[suffix])[0]
    for x in telling_registers(suffix):
        for on in edge_masks(suffix):
            mask, given, got = mask_of(on, lane_bytes), np.where(on, x, worst(suffix)), empty(wide)
            simd(f"asc_reduce_sum_{suffix}", got, given, mask)
            want = np.zeros(lanes(wide), DTYPES[wide])
            want[0] = summed(x, on, suffix)
            check(got, want, what="sum")
            got, want = empty(suffix), np.zeros(n, DTYPES[suffix])
            simd(f"asc_reduce_sum_datablock_{suffix}", got, given, mask)
            want[:8] = [sum_of(x[part], on[part]) for part in blocks]
            check(got, want, what="sums of blocks")
            if suffix in FLOATS:
                simd(f"asc_pair_reduce_sum_{suffix}", got, given, mask)
                live = np.where(on, x.astype(np.float32), np.float32(0))
                want = np.zeros(n, DTYPES[suffix])
                want[: n // 2] = (live[0::2] + live[1::2]).astype(DTYPES[suffix])
                check(got, want, what="sums of pairs")
            for op in ("max", "min"):
                values = x.astype(np.float64)
                index = extreme_index(values, on, op) if on.any() else 0
                simd(f"asc_reduce_{op}_{suffix}", got, given, mask)
                want = np.zeros(n, bits(got).dtype)
                want[:2] = bits(x[index : index + 1] if on.any() else neutral[op].reshape(1))[0], index
                check(bits(got), want, what=op)
                simd(f"asc_reduce_{op}_datablock_{suffix}", got, given, mask)
                want = np.zeros(n, DTYPES[suffix])
                want[:8] = [x[part][extreme_index(values[part], on[part], op)] if on[part].any() else neutral[op] for part in blocks]
                check(got, want, what=f"{op} of blocks")


@edges("lanes", "asc_squeeze asc_unsqueeze")
@pytest.mark.parametrize("suffix", ALL)
def test_squeeze_and_unsqueeze_of_every_mask(simd, suffix):
    x = random_values(suffix, lanes(suffix), 1)
    for on in edge_masks(suffix):
        got, want = empty(suffix), np.zeros(lanes(suffix), bits(x).dtype)
        simd(f"asc_squeeze_{suffix}", got, np.where(on, x, worst(suffix)), mask_of(on, x.dtype.itemsize))
        want[: on.sum()] = bits(x)[on]
        check(bits(got), want)
        if suffix in INTS:
            simd(f"asc_unsqueeze_{suffix}", got, mask_of(on, x.dtype.itemsize))
            check(got, (np.cumsum(on) - on).astype(DTYPES[suffix]))


@edges("values lanes", "asc_{frequency,cumulative}_histogram_bin{0,1}")
@pytest.mark.parametrize("cumulative", [0, 1])
@pytest.mark.parametrize("half", [0, 1])
def test_histograms_of_one_value_and_counts_that_wrap(simd, cumulative, half):
    for x in (np.full(256, v, np.uint8) for v in (0, 127, 128, 255)):
        for on in edge_masks("u8"):
            got = np.resize(np.array([0, 65535, 65280, 255], np.uint16), 128)
            want = got.astype(int)
            simd("histogram", got, np.where(on, x, 64), mask_of(on, 1), cumulative, half)
            counts = np.bincount(x[on], minlength=256)
            want += (np.cumsum(counts) if cumulative else counts)[128 * half :][:128]
            check(got, want.astype(np.uint16))


# ---- broadcasts and ramps -----------------------------------------------------------------------------------------------

@edges("values lanes", "asc_duplicate{,_highest,_scalar}")
@pytest.mark.parametrize("suffix", ALL)
def test_every_edge_value_is_broadcast_with_its_bits(simd, suffix):
    n = lanes(suffix)
    for value in [*edge_values(suffix), *random_values(suffix, 4, 2)]:
        value = np.array([value], DTYPES[suffix])
        for on in edge_masks(suffix):
            for name, place in (("asc_duplicate", 0), ("asc_duplicate_highest", n - 1), ("asc_duplicate_scalar", None)):
                x = value if place is None else np.full(n, worst(suffix))
                if place is not None:
                    bits(x)[place] = bits(value)[0]
                    x.view(bits(x).dtype)[place] = bits(value)[0]
                got = empty(suffix)
                simd(f"{name}_{suffix}", got, x, mask_of(on, 256 // n))
                check(bits(got), np.where(on, bits(value), 0).astype(bits(got).dtype), what=name)


@edges("values", "asc_arange{,_descend}")
@pytest.mark.parametrize("suffix", ALL)
def test_ramps_from_every_edge_value(simd, suffix):
    count = np.arange(lanes(suffix))
    for start in edge_values(suffix):
        for name, step in (("asc_arange", 1), ("asc_arange_descend", -1)):
            got = empty(suffix)
            simd(f"{name}_{suffix}", got, np.array([start], DTYPES[suffix]))
            if suffix in INTS:
                width = 8 * got.dtype.itemsize
                want = np.array([(int(start) + step * i) % 2**width for i in count.tolist()], f"u{width // 8}").view(got.dtype)
            else:
                lane = count.astype(np.float32)
                want = (np.float32(start) + lane if step > 0 else np.float32(start) - lane).astype(got.dtype)
            check(got, want, what=f"{name} from {start}")


def test_the_orders_of_zeros_that_this_file_takes_over():
    """numpy_min_max, the oracle of max and min, itself."""
    zero, minus = np.array([0.0]), np.array([-0.0])
    for a, b in ((zero, minus), (minus, zero)):
        assert not np.signbit(numpy_min_max(np.maximum, a, b, 0.0))[0] and np.signbit(numpy_min_max(np.minimum, a, b, -0.0))[0]
