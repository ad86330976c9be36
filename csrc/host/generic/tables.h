// SPDX-License-Identifier: MIT
// What is the value of each 8-bit and 4-bit code? Tables for the MMAD paths, built by the compiler from
// csrc/formats.
#pragma once

#include "formats/element_type.h"
#include "formats/fp4.h"
#include "formats/fp8.h"
#include "formats/hif8.h"

namespace ascend::host {
namespace {

struct CodeValues {
    float value[256];
};

template <ElementType kType>
constexpr float code_value(uint8_t code) {
    switch (kType) {
        case ElementType::e4m3: return e4m3_to_f32(code);
        case ElementType::e5m2: return e5m2_to_f32(code);
        case ElementType::hif8: return hif8_to_f32(code);
        case ElementType::e2m1: return e2m1_to_f32(code & 0xf);
        case ElementType::e1m2: return e1m2_to_f32(code & 0xf);
        default: return 0.0f;
    }
}

template <ElementType kType>
constexpr CodeValues make_code_values() {
    CodeValues values{};
    for (int code = 0; code < 256; ++code) values.value[code] = code_value<kType>(static_cast<uint8_t>(code));
    return values;
}

template <ElementType kType>
constexpr CodeValues kCodeValues = make_code_values<kType>();

}  // namespace
}  // namespace ascend::host
