// SPDX-License-Identifier: MIT
// What do the scalar converters of csrc/formats give for a whole array? Plain C symbols for test_formats.py.
#include <cstdint>

#include "formats/bf16.h"
#include "formats/e8m0.h"
#include "formats/f16.h"
#include "formats/fp4.h"
#include "formats/fp8.h"
#include "formats/hf32.h"
#include "formats/hif8.h"

using namespace ascend;

namespace {
template <typename Code, typename Convert>
void decode_all(const uint16_t* codes, float* values, long count, Convert convert) {
    for (long i = 0; i < count; ++i) values[i] = convert(static_cast<Code>(codes[i]));
}
template <typename Convert>
void encode_all(const float* values, uint16_t* codes, long count, Convert convert) {
    for (long i = 0; i < count; ++i) codes[i] = convert(values[i]);
}
}  // namespace

extern "C" {

void decode_bf16(const uint16_t* codes, float* values, long n) {
    decode_all<uint16_t>(codes, values, n, bf16_to_f32);
}
void decode_f16(const uint16_t* codes, float* values, long n) {
    decode_all<uint16_t>(codes, values, n, f16_to_f32);
}
void decode_e4m3(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, e4m3_to_f32);
}
void decode_e5m2(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, e5m2_to_f32);
}
void decode_e2m1(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, e2m1_to_f32);
}
void decode_e1m2(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, e1m2_to_f32);
}
void decode_e8m0(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, e8m0_to_f32);
}
void decode_hif8(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, hif8_to_f32);
}
void decode_e8m0_as_bf16(const uint16_t* codes, float* values, long n) {
    decode_all<uint8_t>(codes, values, n, [](uint8_t code) { return bf16_to_f32(e8m0_to_bf16(code)); });
}

void encode_bf16(const float* values, uint16_t* codes, long n, int rounding, int saturation) {
    encode_all(values, codes, n,
               [=](float x) { return f32_to_bf16(x, Rounding(rounding), Saturation(saturation)); });
}
void encode_bf16_fast(const float* values, uint16_t* codes, long n, int, int) {
    encode_all(values, codes, n, [](float x) { return f32_to_bf16(x); });
}
void encode_f16(const float* values, uint16_t* codes, long n, int rounding, int saturation) {
    encode_all(values, codes, n,
               [=](float x) { return f32_to_f16(x, Rounding(rounding), Saturation(saturation)); });
}
void encode_e4m3(const float* values, uint16_t* codes, long n, int, int saturation) {
    encode_all(values, codes, n, [=](float x) { return f32_to_e4m3(x, Saturation(saturation)); });
}
void encode_e5m2(const float* values, uint16_t* codes, long n, int, int saturation) {
    encode_all(values, codes, n, [=](float x) { return f32_to_e5m2(x, Saturation(saturation)); });
}
void encode_e2m1(const float* values, uint16_t* codes, long n, int rounding, int) {
    encode_all(values, codes, n, [=](float x) { return f32_to_e2m1(x, Rounding(rounding)); });
}
void encode_e1m2(const float* values, uint16_t* codes, long n, int rounding, int) {
    encode_all(values, codes, n, [=](float x) { return f32_to_e1m2(x, Rounding(rounding)); });
}
void encode_e8m0(const float* values, uint16_t* codes, long n, int rounding, int) {
    encode_all(values, codes, n, [=](float x) { return f32_to_e8m0(x, Rounding(rounding)); });
}
void encode_e8m0_scale(const float* values, uint16_t* codes, long n, int, int) {
    encode_all(values, codes, n, [](float x) { return f32_to_e8m0_scale(x); });
}
void encode_hif8(const float* values, uint16_t* codes, long n, int rounding, int saturation) {
    encode_all(values, codes, n,
               [=](float x) { return f32_to_hif8(x, Rounding(rounding), Saturation(saturation)); });
}
void round_hf32(const float* values, float* rounded, long n, int rounding) {
    for (long i = 0; i < n; ++i) rounded[i] = f32_to_hf32(values[i], Rounding(rounding));
}
}
