// SPDX-License-Identifier: MIT
// Reductions across a register, its 32-byte blocks, or neighbouring lanes; squeeze; histograms.
//
// Note "Summation order". A balanced binary tree, neighbours first: lanes 2i and 2i + 1, then those sums in pairs, and so
// on; masked-off lanes count as +0. f32 rounds at every step; 16-bit floats sum in fp32 and round once.
#pragma once

#include "isa/simd_permute.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

// Neighbouring lanes of the sequence a, b: as many sums as a chunk has lanes.
template <typename V>
ASC_INLINE V add_neighbours(V a, V b) {
    return take_even(a, b) + take_odd(a, b);
}

template <int kCount = kChunks>
ASC_INLINE float tree_sum(VecF* chunks) {
    for (int count = kCount; count > 1; count /= 2) {
        for (int j = 0; j < count / 2; ++j)
            chunks[j] = add_neighbours(chunks[2 * j], chunks[2 * j + 1]);
    }
    VecF sum = chunks[0];
    for (int lanes = kChunkLanes<float>; lanes > 1; lanes /= 2)
        sum = add_neighbours(sum, sum);
    return sum[0];
}

// The result type of a sum: 8- and 16-bit integers widen.
template <typename T>
struct SumOf {
    using type = T;
};
template <>
struct SumOf<int8_t> {
    using type = int16_t;
};
template <>
struct SumOf<uint8_t> {
    using type = uint16_t;
};
template <>
struct SumOf<int16_t> {
    using type = int32_t;
};
template <>
struct SumOf<uint16_t> {
    using type = uint32_t;
};

// Sum of lanes first .. first + count - 1 (a power of two), in fp32 or the integer type S, active ones only.
template <typename T, typename S>
inline S lanes_sum(const Lanes<T>& lanes, const Predicate& mask, int first, int count) {
    if (count == 1) {
        if (!is_active<T>(mask, first)) return S{0};
        if constexpr (kIsFloat<T>) return static_cast<float>(__builtin_bit_cast(T, lanes.at[first]));
        else return static_cast<S>(static_cast<T>(lanes.at[first]));
    }
    return static_cast<S>(lanes_sum<T, S>(lanes, mask, first, count / 2) +
                          lanes_sum<T, S>(lanes, mask, first + count / 2, count / 2));
}

// Order keys: signed integers that compare as the lanes do; for floats +0 above -0, and NaN above (below) everything.
template <typename T, bool kNanHigh>
ASC_INLINE Vec<signed_t<T>> order_keys(Vec<lane_t<T>> chunk) {
    using U = bits_t<T>;
    using K = signed_t<T>;
    constexpr int kBits = sizeof(T) * 8;
    constexpr K kTop = static_cast<K>(static_cast<U>(~U{0}) >> 1);
    if constexpr (kIsFloat<T>) {
        constexpr U kInf = std::is_same_v<T, float>  ? U(0x7f800000u)
                           : std::is_same_v<T, half> ? U(0x7c00)
                                                     : U(0x7f80);
        const Vec<K> bits = (Vec<K>)chunk, size = bits & kTop;
        const Vec<K> ordered = bits ^ ((bits >> (kBits - 1)) & kTop);
        return choose(size > static_cast<K>(kInf), splat(kNanHigh ? kTop : static_cast<K>(~kTop)), ordered);
    } else if constexpr (std::is_signed_v<T>) {
        return (Vec<K>)chunk;
    } else {
        return (Vec<K>)((Vec<U>)chunk ^ static_cast<U>(U{1} << (kBits - 1)));
    }
}

template <bool kMax, typename V>
ASC_INLINE V extreme(V a, V b) {
    if constexpr (kMax) return choose(a > b, a, b);
    else return choose(a < b, a, b);
}

// The best lane of a chunk, in every lane: halves folded onto each other.
template <bool kMax, int kStep, typename V>
ASC_INLINE V fold_extreme(V v) {
    if constexpr (kStep == 0) {
        return v;
    } else {
        const V other = shuffle(v, v, [](int i, int n) __attribute__((always_inline)) { return (i + kStep) % n; });
        return fold_extreme<kMax, kStep / 2>(extreme<kMax>(v, other));
    }
}

// The extreme lane's index, -1 if none is active; of equal lanes the first.
template <typename T, bool kMax>
ASC_INLINE int extreme_lane(const Register<T>& source, const Predicate& mask) {
    using K = signed_t<T>;
    using U = bits_t<T>;
    constexpr K kTop = static_cast<K>(static_cast<U>(~U{0}) >> 1);
    constexpr K kLast = kMax ? static_cast<K>(~kTop) : kTop;  // worse than or equal to everything
    Vec<K> keys[kChunks], best = splat(kLast);
    each_chunk([&](auto i) __attribute__((always_inline)) {
        keys[i] = (Vec<K>)blend((Vec<K>)active<T>(mask, i), order_keys<T, kMax>(source.v[i]), splat(kLast));
        best = extreme<kMax>(keys[i], best);
    });
    best = fold_extreme<kMax, kChunkLanes<T> / 2>(best);
    // Indices of the hits, biased to compare as signed: 8-bit lanes count to 255, which the last lane shares with "no hit".
    constexpr int kBias = sizeof(T) == 1 ? 128 : 0;
    const Vec<K> numbers = make_chunk<K>([](int lane) __attribute__((always_inline)) { return lane - kBias; });
    Vec<K> first = splat(kTop), hit = Vec<K>{};
    each_chunk([&](auto i) __attribute__((always_inline)) {
        const Vec<K> hits = (Vec<K>)(keys[i] == best) & (Vec<K>)active<T>(mask, i);
        const Vec<K> index = (Vec<K>)blend(hits, numbers + static_cast<K>(i * kChunkLanes<T>), splat(kTop));
        first = extreme<false>(index, first);
        hit |= hits;
    });
    first = fold_extreme<false, kChunkLanes<T> / 2>(first);
    if constexpr (sizeof(T) == 1) {
        hit = fold_extreme<false, kChunkLanes<T> / 2>(hit);  // -1 beats 0
        if (hit[0] == 0) return -1;
    } else {
        if (first[0] == kTop) return -1;
    }
    return static_cast<int>(first[0]) + kBias;
}

// What a reduction over no active lane gives: the value that loses against every other.
template <typename T, bool kMax>
constexpr bits_t<T> neutral_bits() {
    using U = bits_t<T>;
    constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
    if constexpr (kIsFloat<T>) {
        constexpr U kInf = std::is_same_v<T, float>  ? U(0x7f800000u)
                           : std::is_same_v<T, half> ? U(0x7c00)
                                                     : U(0x7f80);
        return kMax ? U(kInf | kSign) : kInf;
    } else if constexpr (std::is_signed_v<T>) {
        return kMax ? kSign : U(kSign - 1);
    } else {
        return kMax ? U{0} : U(~U{0});
    }
}

template <bool kMax, typename T>
ASC_INLINE void reduce_extreme(Register<T>& dst, const Register<T>& source, const Predicate& mask) {
    vf_count(VfClass::reduce);
    const int lane = extreme_lane<T, kMax>(source, mask);
    Lanes<T> out{};
    out.at[0] = lane < 0 ? neutral_bits<T, kMax>() : lanes_of(source).at[lane];
    out.at[1] = static_cast<bits_t<T>>(lane < 0 ? 0 : lane);
    set_lanes(dst, out);
}

template <bool kMax, typename T>
ASC_INLINE void reduce_extreme_blocks(Register<T>& dst, const Register<T>& source, const Predicate& mask) {
    vf_count(VfClass::reduce);
    constexpr int kPerBlock = kBlockBytes / static_cast<int>(sizeof(T));
    const Lanes<T> lanes = lanes_of(source);
    Lanes<signed_t<T>> keys;
    Register<signed_t<T>> key_register;
    each_chunk([&](auto i)
                   __attribute__((always_inline)) { key_register.v[i] = order_keys<T, kMax>(source.v[i]); });
    keys = lanes_of(key_register);
    Lanes<T> out{};
    for (int block = 0; block < kRegisterBytes / kBlockBytes; ++block) {
        int best = -1;
        for (int i = block * kPerBlock; i < (block + 1) * kPerBlock; ++i) {
            if (!is_active<T>(mask, i)) continue;
            const auto key = static_cast<signed_t<T>>(keys.at[i]);
            if (best < 0 || (kMax ? key > static_cast<signed_t<T>>(keys.at[best])
                                  : key < static_cast<signed_t<T>>(keys.at[best])))
                best = i;
        }
        out.at[block] = best < 0 ? neutral_bits<T, kMax>() : lanes.at[best];
    }
    set_lanes(dst, out);
}

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

// The sum into lane 0, zero elsewhere.
template <typename T>
ASC_INLINE void asc_reduce_sum(ascend::isa::Register<typename ascend::isa::SumOf<T>::type>& dst,
                               const ascend::isa::Register<T>& source, const vector_bool& mask) {
    using namespace ascend::isa;
    using S = typename SumOf<T>::type;
    vf_count(VfClass::reduce);
    Lanes<S> out{};
    if constexpr (std::is_same_v<T, float>) {
        VecF chunks[kChunks];
        each_chunk([&](auto i)
                       __attribute__((always_inline)) { chunks[i] = keep<float>(source.v[i], mask, i); });
        out.at[0] = bits_of(tree_sum(chunks));
    } else if constexpr (kIsFloat<T>) {
        out.at[0] = bits_of(T(lanes_sum<T, float>(lanes_of(source), mask, 0, kLanes<T>)));
    } else {
        out.at[0] = bits_of(lanes_sum<T, S>(lanes_of(source), mask, 0, kLanes<T>));
    }
    set_lanes(dst, out);
}

// The extreme value into lane 0, the index of its first occurrence into lane 1 (as bits), zero elsewhere.
template <typename T>
ASC_INLINE void asc_reduce_max(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                               const vector_bool& mask) {
    ascend::isa::reduce_extreme<true>(dst, source, mask);
}
template <typename T>
ASC_INLINE void asc_reduce_min(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                               const vector_bool& mask) {
    ascend::isa::reduce_extreme<false>(dst, source, mask);
}

// One result per 32-byte block, packed into the low lanes, zero elsewhere.
template <typename T>
ASC_INLINE void asc_reduce_sum_datablock(ascend::isa::Register<T>& dst,
                                         const ascend::isa::Register<T>& source, const vector_bool& mask) {
    using namespace ascend::isa;
    using S = std::conditional_t<kIsFloat<T>, float, T>;
    vf_count(VfClass::reduce);
    constexpr int kPerBlock = kBlockBytes / static_cast<int>(sizeof(T));
    const Lanes<T> lanes = lanes_of(source);
    Lanes<T> out{};
    for (int block = 0; block < kRegisterBytes / kBlockBytes; ++block)
        out.at[block] = bits_of(T(lanes_sum<T, S>(lanes, mask, block * kPerBlock, kPerBlock)));
    set_lanes(dst, out);
}
template <typename T>
ASC_INLINE void asc_reduce_max_datablock(ascend::isa::Register<T>& dst,
                                         const ascend::isa::Register<T>& source, const vector_bool& mask) {
    ascend::isa::reduce_extreme_blocks<true>(dst, source, mask);
}
template <typename T>
ASC_INLINE void asc_reduce_min_datablock(ascend::isa::Register<T>& dst,
                                         const ascend::isa::Register<T>& source, const vector_bool& mask) {
    ascend::isa::reduce_extreme_blocks<false>(dst, source, mask);
}

// Sums of neighbouring lanes, packed into the low half, zero above.
template <typename T>
ASC_INLINE void asc_pair_reduce_sum(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                                    const vector_bool& mask) {
    using namespace ascend::isa;
    using S = std::conditional_t<kIsFloat<T>, float, T>;
    vf_count(VfClass::reduce);
    const Lanes<T> lanes = lanes_of(source);
    Lanes<T> out{};
    for (int i = 0; i < kLanes<T> / 2; ++i)
        out.at[i] = bits_of(T(lanes_sum<T, S>(lanes, mask, 2 * i, 2)));
    set_lanes(dst, out);
}

// Active lanes in order into the low lanes, zero above.
template <typename T>
ASC_INLINE void asc_squeeze(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                            const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::permute, 5);
    const Lanes<T> lanes = lanes_of(source);
    Lanes<T> out{};
    for (int i = 0, next = 0; i < kLanes<T>; ++i) {
        if (is_active<T>(mask, i)) out.at[next++] = lanes.at[i];
    }
    set_lanes(dst, out);
}
// Lane i: how many of the lanes before it are active.
template <typename T>
ASC_INLINE void asc_unsqueeze(ascend::isa::Register<T>& dst, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::permute, 4);
    Lanes<T> out;
    bits_t<T> count = 0;
    for (int i = 0; i < kLanes<T>; ++i) {
        out.at[i] = count;
        count = static_cast<bits_t<T>>(count + (is_active<T>(mask, i) ? 1 : 0));
    }
    set_lanes(dst, out);
}

// Adds to dst the counts of the values 0-127 (bin 0) or 128-255 (bin 1); cumulative: of the values up to each.
namespace ascend_histogram {
template <bool kCumulative>
ASC_INLINE void add(vector_u16& dst, const vector_u8& source, const vector_bool& mask, int first) {
    using namespace ascend::isa;
    vf_count(VfClass::gather, 4);
    const Lanes<uint8_t> values = lanes_of(source);
    uint16_t counts[256] = {};
    for (int i = 0; i < 256; ++i)
        counts[values.at[i]] += is_active<uint8_t>(mask, i) ? 1 : 0;
    if constexpr (kCumulative) {
        for (int i = 1; i < 256; ++i)
            counts[i] = static_cast<uint16_t>(counts[i] + counts[i - 1]);
    }
    Lanes<uint16_t> sums = lanes_of(dst);
    for (int i = 0; i < 128; ++i)
        sums.at[i] = static_cast<uint16_t>(sums.at[i] + counts[first + i]);
    set_lanes(dst, sums);
}
}  // namespace ascend_histogram
ASC_INLINE void asc_frequency_histogram_bin0(vector_u16& dst, const vector_u8& source,
                                             const vector_bool& mask) {
    ascend_histogram::add<false>(dst, source, mask, 0);
}
ASC_INLINE void asc_frequency_histogram_bin1(vector_u16& dst, const vector_u8& source,
                                             const vector_bool& mask) {
    ascend_histogram::add<false>(dst, source, mask, 128);
}
ASC_INLINE void asc_cumulative_histogram_bin0(vector_u16& dst, const vector_u8& source,
                                              const vector_bool& mask) {
    ascend_histogram::add<true>(dst, source, mask, 0);
}
ASC_INLINE void asc_cumulative_histogram_bin1(vector_u16& dst, const vector_u8& source,
                                              const vector_bool& mask) {
    ascend_histogram::add<true>(dst, source, mask, 128);
}

}  // namespace ASCEND_SIM_VEC
