// SPDX-License-Identifier: MIT
// Broadcast, ramps, and instructions that move lanes: interleave, pack, unpack, register gather.
#pragma once

#include "isa/simd_memory.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

// Lanes chosen by f from the sequence a, b (lane numbers 0 .. 2n - 1).
template <typename V, typename F>
ASC_INLINE V shuffle(V a, V b, F f) {
    using L = std::remove_cvref_t<decltype(a[0])>;
    constexpr int kCount = kVecBytes / static_cast<int>(sizeof(L));
    return [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
        return (V)__builtin_shufflevector(a, b, f(i, kCount)...);
    }(std::make_integer_sequence<int, kCount>{});
}
template <typename V>
ASC_INLINE V take_even(V a, V b) {
    return shuffle(a, b, [](int i, int) { return 2 * i; });
}
template <typename V>
ASC_INLINE V take_odd(V a, V b) {
    return shuffle(a, b, [](int i, int) { return 2 * i + 1; });
}
template <typename V>
ASC_INLINE V zip_low(V a, V b) {
    return shuffle(a, b, [](int i, int n) __attribute__((always_inline)) { return i / 2 + (i % 2 ? n : 0); });
}
template <typename V>
ASC_INLINE V zip_high(V a, V b) {
    return shuffle(a, b, [](int i, int n) __attribute__((always_inline)) { return n / 2 + i / 2 + (i % 2 ? n : 0); });
}

template <typename T>
ASC_INLINE void interleave(Register<T>& low, Register<T>& high, const Register<T>& a, const Register<T>& b) {
    const Register<T> x = a, y = b;  // the destinations may be the sources
    each_chunk<kChunks / 2>([&](auto i) __attribute__((always_inline)) {
        low.v[2 * i] = zip_low(x.v[i], y.v[i]);
        low.v[2 * i + 1] = zip_high(x.v[i], y.v[i]);
        high.v[2 * i] = zip_low(x.v[kChunks / 2 + i], y.v[kChunks / 2 + i]);
        high.v[2 * i + 1] = zip_high(x.v[kChunks / 2 + i], y.v[kChunks / 2 + i]);
    });
}
template <typename T>
ASC_INLINE void deinterleave(Register<T>& even, Register<T>& odd, const Register<T>& a,
                             const Register<T>& b) {
    const Register<T> x = a, y = b;
    each_chunk<kChunks / 2>([&](auto i) __attribute__((always_inline)) {
        even.v[i] = take_even(x.v[2 * i], x.v[2 * i + 1]);
        odd.v[i] = take_odd(x.v[2 * i], x.v[2 * i + 1]);
        even.v[kChunks / 2 + i] = take_even(y.v[2 * i], y.v[2 * i + 1]);
        odd.v[kChunks / 2 + i] = take_odd(y.v[2 * i], y.v[2 * i + 1]);
    });
}

template <typename T>
ASC_INLINE void broadcast(Register<T>& dst, lane_t<T> value, const Predicate& mask) {
    vf_count(VfClass::alu);
    const Vec<lane_t<T>> chunk = splat(value);
    each_chunk([&](auto i) __attribute__((always_inline)) { dst.v[i] = keep<T>(chunk, mask, i); });
}

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

// A scalar, lane 0 or the last lane to every active lane.
template <typename T, typename U>
ASC_INLINE void asc_duplicate_scalar(ascend::isa::Register<T>& dst, U scalar, const vector_bool& mask) {
    using namespace ascend::isa;
    broadcast(dst, __builtin_bit_cast(lane_t<T>, scalar_as<T>(scalar)), mask);
}
template <typename T>
ASC_INLINE void asc_duplicate(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                              const vector_bool& mask) {
    ascend::isa::broadcast(dst, source.v[0][0], mask);
}
template <typename T>
ASC_INLINE void asc_duplicate_highest(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                                      const vector_bool& mask) {
    using namespace ascend::isa;
    broadcast(dst, source.v[kChunks - 1][kChunkLanes<T> - 1], mask);
}

// start + lane, start - lane; in the element type.
template <typename T, typename U>
ASC_INLINE void asc_arange(ascend::isa::Register<T>& dst, U start) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    build(dst, [&](int i) __attribute__((always_inline)) { return bits_of(scalar_as<T>(scalar_as<T>(start) + scalar_as<T>(i))); });
}
template <typename T, typename U>
ASC_INLINE void asc_arange_descend(ascend::isa::Register<T>& dst, U start) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    build(dst, [&](int i) __attribute__((always_inline)) { return bits_of(scalar_as<T>(scalar_as<T>(start) - scalar_as<T>(i))); });
}

// low, high: a0 b0 a1 b1 ...    even, odd: the lanes of the sequence a, b.
template <typename T>
ASC_INLINE void asc_intlv(ascend::isa::Register<T>& low, ascend::isa::Register<T>& high,
                          const ascend::isa::Register<T>& a, const ascend::isa::Register<T>& b) {
    ascend::isa::vf_count(ascend::isa::VfClass::permute);
    ascend::isa::interleave(low, high, a, b);
}
template <typename T>
ASC_INLINE void asc_deintlv(ascend::isa::Register<T>& even, ascend::isa::Register<T>& odd,
                            const ascend::isa::Register<T>& a, const ascend::isa::Register<T>& b) {
    ascend::isa::vf_count(ascend::isa::VfClass::permute);
    ascend::isa::deinterleave(even, odd, a, b);
}

// The low halves of the wide lanes into the low (high) half of the register, zero in the other. A cycle: DK-REG's 128 or 64
// elements a cycle are the lanes of one wide register.
template <typename N, typename T>
    requires(sizeof(T) == 2 * sizeof(N))
ASC_INLINE void asc_pack_to_low(ascend::isa::Register<N>& dst, const ascend::isa::Register<T>& source) {
    using namespace ascend::isa;
    vf_count(VfClass::permute);
    Register<N> narrow_lanes, odd;
    std::memcpy(&narrow_lanes, &source, kRegisterBytes);
    deinterleave(dst, odd, narrow_lanes, Register<N>{});
}
template <typename N, typename T>
    requires(sizeof(T) == 2 * sizeof(N))
ASC_INLINE void asc_pack_to_high(ascend::isa::Register<N>& dst, const ascend::isa::Register<T>& source) {
    using namespace ascend::isa;
    vf_count(VfClass::permute);
    Register<N> narrow_lanes, odd;
    std::memcpy(&narrow_lanes, &source, kRegisterBytes);
    deinterleave(dst, odd, Register<N>{}, narrow_lanes);
}

// The low (upper) half's lanes widened: sign or zero extension.
template <typename W, typename T>
    requires(sizeof(W) == 2 * sizeof(T))
ASC_INLINE void asc_unpack_lower(ascend::isa::Register<W>& dst, const ascend::isa::Register<T>& source) {
    using namespace ascend::isa;
    vf_count(VfClass::permute);
    const Lanes<T> lanes = lanes_of(source);
    build(dst, [&](int i) __attribute__((always_inline)) { return static_cast<bits_t<W>>(static_cast<W>(static_cast<T>(lanes.at[i]))); });
}
template <typename W, typename T>
    requires(sizeof(W) == 2 * sizeof(T))
ASC_INLINE void asc_unpack_upper(ascend::isa::Register<W>& dst, const ascend::isa::Register<T>& source) {
    using namespace ascend::isa;
    vf_count(VfClass::permute);
    const Lanes<T> lanes = lanes_of(source);
    build(dst, [&](int i) __attribute__((always_inline)) {
        return static_cast<bits_t<W>>(static_cast<W>(static_cast<T>(lanes.at[kLanes<W> + i])));
    });
}

// dst[i] = source[index[i] mod lanes]. A register takes four cycles whatever its lanes (64 / 32 / 16 a cycle, DK-REG); that
// is the 64 codes a cycle at which DeepGEMM's tile choice expects a vector core to decode FP4.
template <typename T, typename I>
    requires(sizeof(T) == sizeof(I))
ASC_INLINE void asc_gather(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                           const ascend::isa::Register<I>& index) {
    using namespace ascend::isa;
    using namespace ascend::host;       // lanes_of_two is there for chunks of 64 bytes only
    vf_count(VfClass::special, 4);
    if constexpr (kVecBytes == 64) {
        // Lanes of two chunks at a time, chosen by the low bits of the index; the next bit chooses the pair of chunks.
        using Bits = Vec<bits_t<T>>;
        constexpr bits_t<T> kPair = 2 * kChunkLanes<T>;
        const Register<T> from = source;
        each_chunk([&](auto i) __attribute__((always_inline)) {
            const auto at = (Bits)index.v[i];
            const Bits low = lanes_of_two((Bits)from.v[0], (Bits)from.v[1], at);
            const Bits high = lanes_of_two((Bits)from.v[2], (Bits)from.v[3], at);
            dst.v[i] = (Vec<lane_t<T>>)blend((Bits)((at & kPair) != 0), high, low);
        });
    } else {
        const Lanes<T> lanes = lanes_of(source);
        const Lanes<I> at = lanes_of(index);
        build(dst, [&](int i) __attribute__((always_inline)) { return lanes.at[at.at[i] & (kLanes<T> - 1)]; });
    }
}

}  // namespace ASCEND_SIM_VEC
