# SPDX-License-Identifier: MIT
"""What does a SIMT thread get that divides an integer by zero, or the most negative one by -1? Values, unless ASCEND_SIM_CHECK=division asks for an error.

The oracle is Python's whole numbers. The processor's own divisions, which trap in these cases, are read by csrc/chip/division.cpp: they are tested in
every form that they can be encoded in, beside divisions that do not trap.
"""

import itertools
import platform

import ascend_sim
import numpy as np
import pytest
import torch
from ascend_sim import _C, jit

TYPES = {name: np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")}
KERNELS = r"""
#include "simt_api/asc_simt.h"
template <class T>
__simt_vf__ void divide(__gm__ const T* a, __gm__ const T* b, __gm__ T* quotient, __gm__ T* remainder, int n) {
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
        quotient[i] = a[i / n] / b[i % n];
        remainder[i] = a[i / n] % b[i % n];
    }
}
#define OF_TYPE(T) extern "C" __global__ __vector__ void of_##T(__gm__ const T##_t* a, __gm__ const T##_t* b, __gm__ T##_t* q, __gm__ T##_t* r, int n) { \
    asc_vf_call<divide<T##_t>>(cce::dim3(70), a, b, q, r, n); }
OF_TYPE(int8) OF_TYPE(uint8) OF_TYPE(int16) OF_TYPE(uint16) OF_TYPE(int32) OF_TYPE(uint32) OF_TYPE(int64) OF_TYPE(uint64)
"""


def edges(dtype):
    info = np.iinfo(dtype)
    return sorted({info.min, info.min + 1, info.max, 0, 1, 2, 7, 100} | ({-1, -2, -7} if info.min else {info.max // 2 + 1}))


def divided(a, b, smallest):
    """C's division, which rounds to zero; smallest: of the type that it is carried out in, or 0 if that has no sign."""
    if b == 0:
        return 0, a
    if b == -1 and a == smallest:
        return a, 0
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(KERNELS, {f"of_{name}": "vector" for name in TYPES})


@pytest.mark.parametrize("name", TYPES)
def test_every_pair_of_edges(kernels, name):
    dtype, values = TYPES[name], edges(TYPES[name])
    kind = getattr(torch, name)
    operand = torch.from_numpy(np.array(values, dtype)).npu()
    quotient, remainder = (torch.zeros(len(values), len(values), dtype=kind).npu() for _ in range(2))
    kernels[f"of_{name}"][1](operand, operand, quotient, remainder, len(values))
    info = np.iinfo(dtype)
    smallest = info.min if dtype.itemsize >= 4 else -(2**31)        # smaller ones are divided as int
    want = [divided(a, b, smallest) for a, b in itertools.product(values, repeat=2)]
    wrapped = [[x & (2 ** (8 * dtype.itemsize) - 1) for x in column] for column in zip(*want, strict=True)]
    for got, column in zip((quotient, remainder), wrapped, strict=True):
        assert np.array_equal(got.cpu().numpy().view(f"u{dtype.itemsize}").flatten(), np.array(column, f"u{dtype.itemsize}"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors do not trap")
def test_the_check_makes_it_an_error(kernels, request):
    _C.set_division_check(True)
    request.addfinalizer(lambda: _C.set_division_check(False))
    a, b, out = torch.tensor([7]).npu(), torch.tensor([0]).npu(), torch.full((1,), -5).npu()
    with pytest.raises(ascend_sim.LaunchError, match=r"of_int64 on .*core 0 aiv0 block 0 V: SIMT code: thread \(0, 0, 0\): integer division by zero.*ASCEND_SIM_CHECK=division"):
        kernels["of_int64"][1](a, b, out, out.clone(), 1)
    assert out.item() == -5
    _C.set_division_check(False)
    kernels["of_int64"][1](a, b, out, out.clone(), 1)
    assert out.item() == 0


def test_thousands_of_them_are_no_trouble(kernels):
    """A tile whose threads have nothing to do divides by zero in each of them."""
    n = 100
    a, b = torch.arange(n, dtype=torch.int32).npu(), torch.zeros(n, dtype=torch.int32).npu()
    quotient, remainder = (torch.full((n, n), -1, dtype=torch.int32).npu() for _ in range(2))
    kernels["of_int32"][1](a, b, quotient, remainder, n)
    assert not quotient.any() and torch.equal(remainder.cpu(), torch.arange(n, dtype=torch.int32).repeat_interleave(n).view(n, n))


KNOWN_ZERO = r"""
#include "simt_api/asc_simt.h"
__simt_vf__ void divide(__gm__ const int32_t* a, __gm__ const int32_t* b, __gm__ int32_t* quotient, __gm__ int32_t* remainder, int n) {
    int32_t x, y;
    if ((int32_t)threadIdx.x < n) { x = a[(int32_t)threadIdx.x]; } else { x = 0; }
    if ((int32_t)threadIdx.x < n) { y = b[(int32_t)threadIdx.x]; } else { y = 0; }
    quotient[(int32_t)threadIdx.x] = x / y;
    remainder[(int32_t)threadIdx.x] = (x + 5) % y;
}
extern "C" __global__ __vector__ void known_zero(__gm__ const int32_t* a, __gm__ const int32_t* b, __gm__ int32_t* q, __gm__ int32_t* r, int n) {
    asc_vf_call<divide>(cce::dim3(64), a, b, q, r, n);
}
"""


def test_a_divisor_that_the_compiler_knows_to_be_zero_on_one_path(request):
    """As TileLang writes a load beyond a tensor's end: compilers may take the division for a mistake and end that path with a trap."""
    kernel, n = jit.compile(KNOWN_ZERO, "known_zero", cores="vector"), 37
    a, b = torch.arange(100, 100 + n, dtype=torch.int32), torch.arange(1, 1 + n, dtype=torch.int32)
    quotient, remainder = (torch.full((64,), -9, dtype=torch.int32).npu() for _ in range(2))
    kernel[1](a.npu(), b.npu(), quotient, remainder, n)
    assert quotient.tolist() == (a // b).tolist() + [0] * (64 - n)
    assert remainder.tolist() == ((a + 5) % b).tolist() + [5] * (64 - n)
    if platform.machine() == "x86_64":
        _C.set_division_check(True)
        request.addfinalizer(lambda: _C.set_division_check(False))
        with pytest.raises(ascend_sim.LaunchError, match=r"SIMT code: thread \(37, 0, 0\): integer division by zero"):
            kernel[1](a.npu(), b.npu(), quotient, remainder, n)


# ---- encodings ----------------------------------------------------------------------------------------------------------

WIDTHS = {"b": 1, "w": 2, "l": 4, "q": 8}
# How the divisor, %[b], gets where the operand finds it; %[p] points 40 bytes before a copy of it.
IN_REGISTERS = {
    "rcx": "cl cx ecx rcx", "rbx": "bl bx ebx rbx", "rsi": "sil si esi rsi", "rdi": "dil di edi rdi", "r8": "r8b r8w r8d r8", "r9": "r9b r9w r9d r9",
    "r12": "r12b r12w r12d r12", "r13": "r13b r13w r13d r13", "r15": "r15b r15w r15d r15",
}
IN_MEMORY = {
    **{f"{base}_near": (f"movq %[p], %%{base}", f"40(%%{base})") for base in ("rsi", "rbx", "r12", "r13", "r8")},
    **{f"{base}_behind": (f"leaq 50(%[p]), %%{base}", f"-10(%%{base})") for base in ("rdi", "r12", "r13")},
    **{f"{base}_at": (f"leaq 40(%[p]), %%{base}", f"(%%{base})") for base in ("rsi", "r12", "r13", "r9")},
    **{f"{base}_far": (f"leaq -100000(%[p]), %%{base}", f"100040(%%{base})") for base in ("rbx", "r12", "r14")},
    "indexed": ("movq %[p], %%rsi; movq $5, %%r9", "(%%rsi,%%r9,8)"),
    "indexed_near": ("leaq -1(%[p]), %%r13; movq $10, %%r12", "1(%%r13,%%r12,4)"),
    "indexed_far": ("leaq -1000(%[p]), %%r12; movq $20, %%rbx", "1000(%%r12,%%rbx,2)"),
    "no_base": ("leaq -7000(%[p]), %%r10", "7040(,%%r10,1)"),
    "no_base_scaled": ("movq %[p], %%r10; shrq $3, %%r10", "40(,%%r10,8)"),
    "relative": ("movq %[b], simt_division_divisor(%%rip)", "simt_division_divisor(%%rip)"),
    "stack": ("leaq -512(%%rsp), %%rsp; movq %[b], 8(%%rsp)", "8(%%rsp)"),
    "stack_indexed": ("leaq -512(%%rsp), %%rsp; movq %[b], 16(%%rsp); movq $2, %%r11", "(%%rsp,%%r11,8)"),
    "other_segment_prefix": ("leaq 40(%[p]), %%rsi", "%%ds:(%%rsi)"),
}


def forms():
    """(width letter, setup, operand) of every division to be tested."""
    for width in WIDTHS:
        for register, parts in IN_REGISTERS.items():
            yield width, f"movq %[b], %%{register}", "%%" + parts.split()["bwlq".index(width)]
        for setup, operand in IN_MEMORY.values():
            yield width, setup, operand
    for high, register in (("bh", "rbx"), ("ch", "rcx")):
        yield "b", f"movq %[b], %%{register}; shlq $8, %%{register}", f"%%{high}"


FORMS = [(width, sign, setup, operand) for width, setup, operand in forms() for sign in ("i", "")]
ENCODED = r"""
#include "simt_api/asc_simt.h"
extern "C" __attribute__((visibility("hidden"))) uint64_t simt_division_divisor;
uint64_t simt_division_divisor;
__simt_vf__ void run(__gm__ uint64_t* all, int count, int form) {
    for (int i = 0; i < count; ++i) {
        uint64_t* const row = all + 8 * i;
        uint64_t a = row[0], d = row[1];
        const uint64_t b = row[5];
        switch (form) {
CASES
        }
        row[0] = a, row[1] = d;
    }
}
extern "C" __global__ __vector__ void encoded(__gm__ uint64_t* all, int count, int form) { asc_vf_call<run>(cce::dim3(1), all, count, form); }
"""


def case(number, width, sign, setup, operand):
    after = "leaq 512(%%rsp), %%rsp" if "512(%%rsp)" in setup else ""
    clobbers = ", ".join(f'"{name}"' for name in ("rcx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "cc", "memory"))
    if "r15" in operand:
        clobbers = clobbers.replace('"r14"', '"r15"')
    text = "; ".join(part for part in (setup, f"{sign}div{width} {operand}", after) if part)
    return f'case {number}: asm volatile("{text}" : "+a"(a), "+d"(d) : [b] "r"(b), [p] "r"(row) : {clobbers}); break;'


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the encodings are x86-64's")
def test_every_encoding():
    text = ENCODED.replace("CASES", "\n".join(case(number, *form) for number, form in enumerate(FORMS)))
    kernel = jit.compile(text, "encoded", cores="vector")
    for number, (letter, sign, *_) in enumerate(FORMS):
        bits = 8 * WIDTHS[letter]
        mask, smallest = 2**bits - 1, -(2 ** (bits - 1)) if sign else 0
        dividends, divisors = [5, mask // 2, 0, smallest or mask, smallest + 1], [0, 3, -1 if sign else mask]
        rows, wants = [], []
        for a, b in itertools.product(dividends, divisors):
            garbage, wide = 0x1122334455667788, a & (mask << bits | mask)
            low, high = garbage & ~mask & (2**64 - 1) | wide & mask, garbage & ~mask & (2**64 - 1) | wide >> bits
            if bits == 8:
                low, high = garbage & ~0xFFFF | wide, garbage
            rows.append([low, high, 0, 0, 0, (b & mask) | (0xA5A5A5A5A5A5A5A5 & ~mask & (2**64 - 1)), 0, 0])
            quotient, remainder = (x & mask for x in divided(a, b, smallest if sign else None))
            if bits == 8:
                wants.append([garbage & ~0xFFFF | remainder << 8 | quotient, garbage])
            else:
                kept = garbage & ~mask if bits < 32 else 0
                wants.append([kept | quotient, kept | remainder])
        table = torch.from_numpy(np.array(rows, np.uint64)).npu()
        kernel[1](table, len(rows), number)
        got = table.cpu().numpy()[:, :2].tolist()
        assert got == wants, (FORMS[number], [(hex(g[0]), hex(w[0])) for g, w in zip(got, wants, strict=True) if g != w])
