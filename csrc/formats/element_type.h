// SPDX-License-Identifier: MIT
// Which element types do the cube and the fixpipe know, and how large are they?
#pragma once

#include <cstdint>

namespace ascend {

// Names as in docs and traces: hf32 is fp32 storage that the cube rounds to 10 mantissa bits, s32 only occurs
// in L0C.
enum class ElementType : uint8_t { bf16, f16, f32, hf32, e4m3, e5m2, hif8, s8, e2m1, e1m2, s32 };

static constexpr int element_bits(ElementType type) {
    switch (type) {
        case ElementType::bf16:
        case ElementType::f16: return 16;
        case ElementType::f32:
        case ElementType::hf32:
        case ElementType::s32: return 32;
        case ElementType::e4m3:
        case ElementType::e5m2:
        case ElementType::hif8:
        case ElementType::s8: return 8;
        case ElementType::e2m1:
        case ElementType::e1m2: return 4;
    }
    return 0;
}

// Elements in 32 bytes, that is K of one fractal (K0): 8 for fp32, 16 for b16, 32 for b8, 64 for b4.
static constexpr int elements_per_unit(ElementType type) { return 256 / element_bits(type); }

static constexpr bool is_fp4(ElementType type) {
    return type == ElementType::e2m1 || type == ElementType::e1m2;
}
static constexpr bool is_fp8(ElementType type) {
    return type == ElementType::e4m3 || type == ElementType::e5m2 || type == ElementType::hif8;
}

static constexpr const char* element_name(ElementType type) {
    constexpr const char* kNames[] = {"bf16", "f16", "f32",  "hf32", "e4m3", "e5m2",
                                      "hif8", "s8",  "e2m1", "e1m2", "s32"};
    return kNames[static_cast<int>(type)];
}

}  // namespace ascend
