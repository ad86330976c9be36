// SPDX-License-Identifier: MIT
// Predicates: created from patterns and counts, combined, packed, loaded and stored. Note "Predicate": simd_register.h.
#pragma once

#include "isa/memory_check.h"
#include "isa/simd_register.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

// Whether lane `lane` of `lanes` belongs to a pattern.
constexpr bool in_pattern(int pattern, int lane, int lanes) {
    switch (pattern) {
        case decltype(PAT_ALL)::value: return true;
        case decltype(PAT_M3)::value: return lane % 3 == 0;
        case decltype(PAT_M4)::value: return lane % 4 == 0;
        case decltype(PAT_H)::value: return lane < lanes / 2;
        case decltype(PAT_Q)::value: return lane < lanes / 4;
        default: return lane < pattern;
    }
}

// g++ 12 folds a selection among constants wrongly if the mask is a constant whose leading lanes repeat a pattern and whose rest
// is zero: every lane of the chunk comes out on. So the compiler must not know a partial mask; as a plain asm it may still hoist it.
ASC_INLINE void hide_value(Predicate& mask) {
    each_chunk([&](auto i) __attribute__((always_inline)) {
        auto& chunk = mask.v[i];        // clang does not see that the operand of an asm captures `mask`
#if defined(__AVX512F__)
        asm("" : "+v"(chunk));
#elif defined(__AVX2__)
        asm("" : "+x"(chunk));
#else
        asm("" : "+m"(chunk));
#endif
    });
}

template <int kLaneBytes, int kPattern>
ASC_INLINE Predicate pattern_mask() {
    vf_count(VfClass::mask);
    Predicate mask;
    if constexpr (kPattern == decltype(PAT_ALL)::value) {
        each_chunk([&](auto i) __attribute__((always_inline)) { mask.v[i] = ~Vec<uint8_t>{}; });
    } else if constexpr (kChunks <= 8) {
        each_chunk([&](auto i) __attribute__((always_inline)) {
            mask.v[i] = make_chunk<uint8_t>([&](int byte) __attribute__((always_inline)) {
                return in_pattern(kPattern, (i * kVecBytes + byte) / kLaneBytes, kRegisterBytes / kLaneBytes)
                           ? 0xff
                           : 0;
            });
        });
    } else {
        uint8_t bytes[kRegisterBytes];
        for (int byte = 0; byte < kRegisterBytes; ++byte)
            bytes[byte] = in_pattern(kPattern, byte / kLaneBytes, kRegisterBytes / kLaneBytes) ? 0xff : 0;
        std::memcpy(&mask, bytes, kRegisterBytes);
    }
    if constexpr (kPattern != decltype(PAT_ALL)::value) hide_value(mask);
    return mask;
}

// The first min(count, lanes) lanes on; count goes down by as many.
template <int kLaneBytes, typename Count>
ASC_INLINE Predicate counted_mask(Count& count) {
    vf_count(VfClass::mask);
    constexpr uint64_t kMaskLanes = kRegisterBytes / kLaneBytes;
    const uint64_t lanes = count < kMaskLanes ? count : kMaskLanes;
    count -= static_cast<Count>(lanes);
    const int bytes = static_cast<int>(lanes) * kLaneBytes;
    const Vec<uint8_t> index = make_chunk<uint8_t>([](int byte) __attribute__((always_inline)) { return byte; });
    Predicate mask;
    each_chunk([&](auto i) __attribute__((always_inline)) {
        const int left = bytes - i * kVecBytes;  // active bytes of this chunk
        if (left <= 0) mask.v[i] = Vec<uint8_t>{};
        else if (left >= kVecBytes) mask.v[i] = ~Vec<uint8_t>{};
        else mask.v[i] = (Vec<uint8_t>)(index < static_cast<uint8_t>(left));
    });
    hide_value(mask);
    return mask;
}

template <typename F>
ASC_INLINE void predicate_op(Predicate& dst, const Predicate& mask, F f, const Predicate& a,
                             const Predicate& b) {
    vf_count(VfClass::mask);
    each_chunk([&](auto i) __attribute__((always_inline)) { dst.v[i] = f(a.v[i], b.v[i]) & mask.v[i]; });
}

struct PredicateBytes {
    uint8_t at[kRegisterBytes];
};
ASC_INLINE PredicateBytes bytes_of(const Predicate& mask) { return __builtin_bit_cast(PredicateBytes, mask); }

template <typename F>
ASC_INLINE void build_predicate(Predicate& dst, F f) {
    vf_count(VfClass::mask);
    PredicateBytes bytes;
    for (int i = 0; i < kRegisterBytes; ++i)
        bytes.at[i] = f(i) ? 0xff : 0;
    dst = __builtin_bit_cast(Predicate, bytes);
}

// Lanes of kLaneBytes of the two sources alternate (interleave) or are sorted into even and odd ones (de-interleave).
template <int kLaneBytes>
ASC_INLINE void interleave_predicates(Predicate& low, Predicate& high, const Predicate& a,
                                      const Predicate& b) {
    const PredicateBytes x = bytes_of(a), y = bytes_of(b);
    auto at = [&](int byte) __attribute__((always_inline)) {  // byte 0 .. 511 of the interleaved sequence
        const int lane = byte / kLaneBytes, rest = byte % kLaneBytes;
        return (lane % 2 ? y : x).at[lane / 2 * kLaneBytes + rest];
    };
    build_predicate(low, [&](int byte) __attribute__((always_inline)) { return at(byte); });
    build_predicate(high, [&](int byte) __attribute__((always_inline)) { return at(byte + kRegisterBytes); });
}
template <int kLaneBytes>
ASC_INLINE void deinterleave_predicates(Predicate& even, Predicate& odd, const Predicate& a,
                                        const Predicate& b) {
    const PredicateBytes x = bytes_of(a), y = bytes_of(b);
    auto at = [&](int byte, int which) __attribute__((always_inline)) {
        const int source = (byte / kLaneBytes * 2 + which) * kLaneBytes + byte % kLaneBytes;
        return source < kRegisterBytes ? x.at[source] : y.at[source - kRegisterBytes];
    };
    build_predicate(even, [&](int byte) __attribute__((always_inline)) { return at(byte, 0); });
    build_predicate(odd, [&](int byte) __attribute__((always_inline)) { return at(byte, 1); });
}

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

template <int kPattern>
ASC_INLINE vector_bool asc_create_mask_b8(asc_tag<ascend::isa::PatternControl, kPattern>) {
    return ascend::isa::pattern_mask<1, kPattern>();
}
template <int kPattern>
ASC_INLINE vector_bool asc_create_mask_b16(asc_tag<ascend::isa::PatternControl, kPattern>) {
    return ascend::isa::pattern_mask<2, kPattern>();
}
template <int kPattern>
ASC_INLINE vector_bool asc_create_mask_b32(asc_tag<ascend::isa::PatternControl, kPattern>) {
    return ascend::isa::pattern_mask<4, kPattern>();
}
template <int kPattern>
ASC_INLINE vector_bool asc_create_mask_b64(asc_tag<ascend::isa::PatternControl, kPattern>) {
    return ascend::isa::pattern_mask<8, kPattern>();
}

template <typename Count>
ASC_INLINE vector_bool asc_update_mask_b8(Count& count) {
    return ascend::isa::counted_mask<1>(count);
}
template <typename Count>
ASC_INLINE vector_bool asc_update_mask_b16(Count& count) {
    return ascend::isa::counted_mask<2>(count);
}
template <typename Count>
ASC_INLINE vector_bool asc_update_mask_b32(Count& count) {
    return ascend::isa::counted_mask<4>(count);
}

// Bitwise on predicates, zero where masked off; select takes a where `mask` is on.
ASC_INLINE void asc_and(vector_bool& dst, const vector_bool& a, const vector_bool& b,
                        const vector_bool& mask) {
    ascend::isa::predicate_op(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return x & y; }, a, b);
}
ASC_INLINE void asc_or(vector_bool& dst, const vector_bool& a, const vector_bool& b,
                       const vector_bool& mask) {
    ascend::isa::predicate_op(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return x | y; }, a, b);
}
ASC_INLINE void asc_xor(vector_bool& dst, const vector_bool& a, const vector_bool& b,
                        const vector_bool& mask) {
    ascend::isa::predicate_op(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return x ^ y; }, a, b);
}
ASC_INLINE void asc_not(vector_bool& dst, const vector_bool& a, const vector_bool& mask) {
    ascend::isa::predicate_op(dst, mask, [](auto x, auto) { return ~x; }, a, a);
}
ASC_INLINE void asc_select(vector_bool& dst, const vector_bool& a, const vector_bool& b,
                           const vector_bool& mask) {
    ascend::isa::vf_count(ascend::isa::VfClass::mask);
    ascend::isa::each_chunk([&](auto i) __attribute__((always_inline)) {
        dst.v[i] = ascend::isa::blend(mask.v[i], a.v[i], b.v[i]);
    });
}

// Pack: every second bit into the low (high) half, the other half zero. Unpack: bits of the low (upper) half, doubled.
ASC_INLINE void asc_pack_to_low(vector_bool& dst, const vector_bool& source) {
    const auto bytes = ascend::isa::bytes_of(source);
    ascend::isa::build_predicate(dst, [&](int i) __attribute__((always_inline)) { return i < 128 ? bytes.at[2 * i] : 0; });
}
ASC_INLINE void asc_pack_to_high(vector_bool& dst, const vector_bool& source) {
    const auto bytes = ascend::isa::bytes_of(source);
    ascend::isa::build_predicate(dst, [&](int i) __attribute__((always_inline)) { return i < 128 ? 0 : bytes.at[2 * (i - 128)]; });
}
ASC_INLINE void asc_unpack_lower(vector_bool& dst, const vector_bool& source) {
    const auto bytes = ascend::isa::bytes_of(source);
    ascend::isa::build_predicate(dst, [&](int i) __attribute__((always_inline)) { return bytes.at[i / 2]; });
}
ASC_INLINE void asc_unpack_upper(vector_bool& dst, const vector_bool& source) {
    const auto bytes = ascend::isa::bytes_of(source);
    ascend::isa::build_predicate(dst, [&](int i) __attribute__((always_inline)) { return bytes.at[128 + i / 2]; });
}

#define ASC_PREDICATE_INTERLEAVE(width, bytes)                                                               \
    ASC_INLINE void asc_intlv_##width(vector_bool& low, vector_bool& high, vector_bool a, vector_bool b) {   \
        ascend::isa::interleave_predicates<bytes>(low, high, a, b);                                          \
    }                                                                                                        \
    ASC_INLINE void asc_deintlv_##width(vector_bool& even, vector_bool& odd, vector_bool a, vector_bool b) { \
        ascend::isa::deinterleave_predicates<bytes>(even, odd, a, b);                                        \
    }
ASC_PREDICATE_INTERLEAVE(b8, 1)
ASC_PREDICATE_INTERLEAVE(b16, 2)
ASC_PREDICATE_INTERLEAVE(b32, 4)
#undef ASC_PREDICATE_INTERLEAVE

// Predicates in UB: 32 bytes, bit i for byte i of a register; `offset` counts 32-bit words.
// upsample: 16 bytes, each bit twice; downsample: 64 bytes, every second bit; pack: every second bit into 16 bytes.
namespace ascend_predicate_memory {
ASC_INLINE bool bit(const uint32_t* words, int i) { return words[i / 32] >> (i % 32) & 1; }
}  // namespace ascend_predicate_memory

ASC_INLINE void asc_loadalign(vector_bool& dst, const uint32_t* source, int offset) {
    ascend::isa::check_element("asc_loadalign", source + offset);
    ASC_CHECKED(ascend::isa::check_vector_load<32>("asc_loadalign", source + offset);)
    ascend::isa::build_predicate(dst,
                                 [&](int i) __attribute__((always_inline)) { return ascend_predicate_memory::bit(source + offset, i); });
}
ASC_INLINE void asc_loadalign_upsample(vector_bool& dst, const uint32_t* source, int offset) {
    ascend::isa::check_element("asc_loadalign_upsample", source + offset);
    ASC_CHECKED(ascend::isa::check_vector_load<16>("asc_loadalign_upsample", source + offset);)
    ascend::isa::build_predicate(dst,
                                 [&](int i) __attribute__((always_inline)) { return ascend_predicate_memory::bit(source + offset, i / 2); });
}
ASC_INLINE void asc_loadalign_downsample(vector_bool& dst, const uint32_t* source, int offset) {
    ascend::isa::check_element("asc_loadalign_downsample", source + offset);
    ASC_CHECKED(ascend::isa::check_vector_load<64>("asc_loadalign_downsample", source + offset);)
    ascend::isa::build_predicate(dst,
                                 [&](int i) __attribute__((always_inline)) { return ascend_predicate_memory::bit(source + offset, i * 2); });
}
ASC_INLINE void asc_storealign(uint32_t* base, const vector_bool& source, int offset) {
    ascend::isa::vf_count(ascend::isa::VfClass::store);
    const auto bytes = ascend::isa::bytes_of(source);
    ascend::isa::check_element("asc_storealign", base + offset);
    ASC_CHECKED(ascend::isa::check_store<32>("asc_storealign", base + offset);)
    uint32_t words[8] = {};
    for (int i = 0; i < 256; ++i)
        words[i / 32] |= uint32_t(bytes.at[i] & 1) << (i % 32);
    std::memcpy(base + offset, words, sizeof words);
}
ASC_INLINE void asc_storealign_pack(uint32_t* base, const vector_bool& source, int offset) {
    ascend::isa::vf_count(ascend::isa::VfClass::store);
    const auto bytes = ascend::isa::bytes_of(source);
    ascend::isa::check_element("asc_storealign_pack", base + offset);
    ASC_CHECKED(ascend::isa::check_store<16>("asc_storealign_pack", base + offset);)
    uint32_t words[4] = {};
    for (int i = 0; i < 128; ++i)
        words[i / 32] |= uint32_t(bytes.at[2 * i] & 1) << (i % 32);
    std::memcpy(base + offset, words, sizeof words);
}

// Orders loads and stores of one vector function; effects are in program order here.
template <int kKind>
ASC_INLINE void asc_mem_bar(asc_tag<ascend::isa::BarrierControl, kKind>) {}

}  // namespace ASCEND_SIM_VEC
