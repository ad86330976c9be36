// SPDX-License-Identifier: MIT
// Which host instruction set is in use, and what does the cube's MMAD compute on it?
#pragma once

#include <cstdint>
#include <string>

#include "formats/element_type.h"
#include "formats/rounding.h"

namespace ascend::host {

// x86-64 has portable, avx2, avx512 and amx, aarch64 has portable and neon. Each level contains the ones
// before it.
enum class Level : uint8_t { portable, avx2, avx512, amx, neon };

// The level in use; the best one this CPU (and, for amx, this kernel) supports unless set_level chose
// another.
Level level();
const char* level_name(Level level);
bool has_level(Level level);
// False, with the reason and the levels on offer in *reason, if `name` is unknown or this machine cannot run
// it. Not for use while kernels run.
bool set_level(const char* name, std::string* reason = nullptr);

// C[m, n] (+)= A[m, k] * B[n, k]^T over L0 fractals of 512 bytes (16 rows of 32 bytes, K0 elements of k
// each). a: fractal (m1, k1) at (k1 * ceil(m/16) + m1) * 512    b: fractal (n1, k1) at (k1 * ceil(n/16) + n1)
// * 512 c: element (i, j) at ((j/16) * ceil(m/16) + i/16) * 256 + (i%16) * 16 + j%16; fp32, or int32 when
// both operands are s8 Scales (MX: e4m3, e5m2, e2m1, e1m2; both or neither): 2^(byte - 127), 255 is NaN; row
// r, group g of 32 k at
//     ((r/16) * ceil(k/64) + g/2) * 32 + (r%16) * 2 + g%2
// init: C starts as `bias` (n values, of C's type), or as 0 without one; otherwise the product is added to C.
// Only the m x n elements of C are written; rows >= m or n and elements >= k of A and B may hold anything.
struct MmadArgs {
    const uint8_t* a;
    const uint8_t* b;
    float* c;
    int m, n, k;
    ElementType a_type, b_type;
    const uint8_t* a_scale = nullptr;
    const uint8_t* b_scale = nullptr;
    bool init = true;
    const float* bias = nullptr;
    Rounding hf32_rounding = Rounding::nearest_even;
};

// Products are exact, sums are fp32 (s8: int32, wrapping). Special values: inf * 0 = NaN, NaN propagates,
// overflow is inf. Levels below amx add in ascending k. amx adds steps of 32 k in ascending order, inside a
// step as TDPBF16PS does; strips of 16 rows whose smallest products could be flushed there take the avx512
// path. Either way the order depends on the operands alone. On amx a subnormal already in C may be flushed to
// zero.
void mmad(const MmadArgs& args);

}  // namespace ascend::host
