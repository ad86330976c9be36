// SPDX-License-Identifier: MIT
// How do several MMADs into one place share the traffic of C? Operands are packed once, products are taken together.
//
// Only a level with a matrix unit packs. What comes out is bit for bit what one host::mmad after another gives, as long
// as the exponents say that the unit may have the operands; others are for host::mmad.
#pragma once

#include "host/host.h"

namespace ascend::host {

// A or B of one MMAD, in fractals as in MmadArgs: fractal (r1, k1) at k1 * k_stride_bytes + r1 * 512.
struct PackArgs {
    const uint8_t* data;
    int64_t k_stride_bytes;
    const uint8_t* scale;  // null unless MX
    ElementType type;
    int rows, k;
    Rounding hf32_rounding = Rounding::nearest_even;
};

// Packed: strips of 16 rows, each a run of tiles of 1024 bytes. Strips need not follow each other closely.
constexpr int kPackedTileBytes = 1024;

// Whether this level multiplies packed operands of these types.
bool packs(ElementType a, ElementType b);
// Tiles of one strip.
int packed_tiles(ElementType type, int k);
// Fill strips of `out` (64-byte aligned), strip_bytes apart. Return e: all live elements are multiples of 2^e.
int pack_a(uint8_t* out, int64_t strip_bytes, const PackArgs& args);
int pack_b(uint8_t* out, int64_t strip_bytes, const PackArgs& args);
// The same from rows in memory, of bf16: rows a multiple of 16, row_bytes of 32.
struct PackRowsArgs {
    const uint8_t* data;
    int64_t row_stride_bytes;
    int rows, row_bytes;
};
int pack_rows_a(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args);
int pack_rows_b(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args);
// Operands whose products the unit does not flush to zero.
constexpr bool exact_together(int a_exponent, int b_exponent) { return a_exponent + b_exponent >= -126; }

struct PackedOperand {
    const uint8_t* data;
    int64_t strip_bytes;
};
// Several MMADs that follow each other in k in both operands may be one product.
struct PackedProduct {
    PackedOperand a, b;
    int tiles;
};
// C[m, n] (+)= the sum of the products, in their order.
struct PackedMmadArgs {
    const PackedProduct* products;
    int count;
    float* c;
    int m, n;
    bool is_s8;
    bool init;
    const float* bias;  // null, or n values with init
};
void mmad_packed(const PackedMmadArgs& args);

// Packed bf16 back to fractals: k a multiple of 16, fractal (r1, k1) to k1 * k_stride_bytes + r1 * 512.
void unpack_bf16(uint8_t* to, int64_t k_stride_bytes, const PackedOperand& packed, bool is_b, int strips, int k);

}  // namespace ascend::host
