// SPDX-License-Identifier: MIT
// Reductions across a register, its 32-byte blocks, or neighbouring lanes; squeeze; histograms.
//
// Note "Summation order". A balanced binary tree, neighbours first: lanes 2i and 2i + 1, then those sums in pairs, and so
// on; masked-off lanes count as +0. f32 rounds at every step; 16-bit floats sum in fp32 and round once.
#pragma once

#include "isa/simd_mask.h"
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
    require_number<T>();
    if (count == 1) {
        if (!is_active<T>(mask, first)) return S{0};
        if constexpr (kIsFloat<T>) return static_cast<float>(__builtin_bit_cast(T, lanes.at[first]));
        else return static_cast<S>(static_cast<T>(lanes.at[first]));
    }
    return static_cast<S>(lanes_sum<T, S>(lanes, mask, first, count / 2) +
                          lanes_sum<T, S>(lanes, mask, first + count / 2, count / 2));
}

// Order keys: signed integers that compare as the lanes do, so that a reduction is one of integers. Floats have +0 above -0.
// Their codes beyond the infinities are NaN; a shift by that distance makes those at the worse end wrap round, so that NaN of
// either sign beats every number, and the key that loses against all is the infinity a reduction over no lane gives.
template <typename T, bool kMax>
struct OrderKeys {
    using U = bits_t<T>;
    using K = signed_t<T>;
    static constexpr int kBits = sizeof(T) * 8;
    static constexpr U kSign = U(U{1} << (kBits - 1));
    static constexpr K kTop = static_cast<K>(kSign - 1);
    static constexpr K kLast = static_cast<K>(kMax ? kSign : kTop);
    static constexpr U kInf = U(std::is_same_v<T, float> ? 0x7f800000u : std::is_same_v<T, half> ? 0x7c00u : 0x7f80u);
    static constexpr U kShift = kIsFloat<T> ? U(kMax ? kInf - kTop : kTop - kInf) : U{0};
    static constexpr K kWorstNan = static_cast<K>(kMax ? U(2 * kInf - kTop + 1) : U(kTop - 2 * kInf - 2));

    // The bits of a float but the sign turn over where it is negative.
    template <typename V>
    static ASC_INLINE V turned(V bits) {
        return static_cast<V>(bits ^ ((bits >> (kBits - 1)) & kTop));
    }
    static ASC_INLINE Vec<K> of(Vec<lane_t<T>> chunk) {
        if constexpr (kIsFloat<T>) return (Vec<K>)((Vec<U>)turned((Vec<K>)chunk) + kShift);
        else if constexpr (std::is_signed_v<T>) return (Vec<K>)chunk;
        else return (Vec<K>)((Vec<U>)chunk ^ kSign);
    }
    static ASC_INLINE U bits_of(K key) {
        if constexpr (kIsFloat<T>) return static_cast<U>(turned(static_cast<K>(static_cast<U>(key) - kShift)));
        else if constexpr (std::is_signed_v<T>) return static_cast<U>(key);
        else return static_cast<U>(static_cast<U>(key) ^ kSign);
    }
    static ASC_INLINE bool is_nan(K key) { return kIsFloat<T> && (kMax ? key >= kWorstNan : key <= kWorstNan); }
};

// The best lanes of all chunks, chunk by chunk; then of each 2 * kStep lanes, in all of them.
template <bool kMax, int kCount = kChunks, typename V>
ASC_INLINE V best_chunk(V* chunks) {
    if constexpr (kCount == 1) {
        return chunks[0];
    } else {
        each_chunk<kCount / 2>([&](auto i) __attribute__((always_inline)) {
            chunks[i] = host::extreme<kMax>(chunks[i], chunks[i + kCount / 2]);
        });
        return best_chunk<kMax, kCount / 2>(chunks);
    }
}
template <bool kMax, int kStep, typename V>
ASC_INLINE V fold_extreme(V v) {
    if constexpr (kStep == 0) {
        return v;
    } else {
        const V other = shuffle(v, v, [](int i, int) __attribute__((always_inline)) { return i ^ kStep; });
        return fold_extreme<kMax, kStep / 2>(host::extreme<kMax>(v, other));
    }
}

// The first active lane whose key is the best one; 0 if none is active.
template <typename T>
ASC_INLINE int first_hit(const Vec<signed_t<T>>* keys, Vec<signed_t<T>> best, const Predicate& mask) {
    using K = signed_t<T>;
    constexpr K kTop = static_cast<K>(static_cast<bits_t<T>>(~bits_t<T>{0}) >> 1);
    // Biased to compare as signed: 8-bit lanes count to 255, which the last lane shares with "no hit".
    constexpr int kBias = sizeof(T) == 1 ? 128 : 0;
    const Vec<K> numbers = make_chunk<K>([](int lane) __attribute__((always_inline)) { return lane - kBias; });
    Vec<K> first = splat(kTop), hit = Vec<K>{};
    each_chunk([&](auto i) __attribute__((always_inline)) {
        const Vec<K> hits = (Vec<K>)(keys[i] == best) & (Vec<K>)active<T>(mask, i);
        const Vec<bits_t<T>> index = (Vec<bits_t<T>>)numbers + static_cast<bits_t<T>>(i * kChunkLanes<T>);
        first = host::extreme<false>((Vec<K>)blend(hits, (Vec<K>)index, splat(kTop)), first);
        hit |= hits;
    });
    first = fold_extreme<false, kChunkLanes<T> / 2>(first);
    if constexpr (sizeof(T) == 1) {
        hit = fold_extreme<false, kChunkLanes<T> / 2>(hit);  // -1 beats 0
        return hit[0] == 0 ? 0 : static_cast<int>(first[0]) + kBias;
    } else {
        return first[0] == kTop ? 0 : static_cast<int>(first[0]);
    }
}

// NaN is rare, and which one it is matters: the first of `count` lanes. A call, with the registers copied only here.
template <typename T>
[[gnu::cold, gnu::noinline]] int first_nan(const Lanes<T>& lanes, const PredicateBytes& mask, int first, int count) {
    for (int lane = first; lane < first + count; ++lane) {
        const float value = static_cast<float>(__builtin_bit_cast(T, lanes.at[lane]));
        if (value != value && mask.at[lane * static_cast<int>(sizeof(T))] & 1) return lane;
    }
    return first;
}
template <typename T>
ASC_INLINE int first_nan(const Register<T>& source, const Predicate& mask, int first = 0, int count = kLanes<T>) {
    const Lanes<T> lanes = lanes_of(source);
    const PredicateBytes bytes = bytes_of(mask);
    return first_nan(lanes, bytes, first, count);
}

// Lanes 0 and 1, zero elsewhere: not through memory, so that what nobody reads is not computed.
template <typename T>
ASC_INLINE void set_low_lanes(Register<T>& dst, bits_t<T> lane_0, bits_t<T> lane_1 = 0) {
    each_chunk([&](auto i) __attribute__((always_inline)) { dst.v[i] = Vec<lane_t<T>>{}; });
    dst.v[0] = (Vec<lane_t<T>>)Vec<bits_t<T>>{lane_0, lane_1};
}

template <bool kMax, typename T>
ASC_INLINE void reduce_extreme(Register<T>& dst, const Register<T>& source, const Predicate& mask) {
    require_number<T>();
    vf_count(VfClass::reduce);
    using Keys = OrderKeys<T, kMax>;
    Vec<signed_t<T>> keys[kChunks], folded[kChunks];
    each_chunk([&](auto i) __attribute__((always_inline)) {
        keys[i] = folded[i] = (Vec<signed_t<T>>)blend((Vec<signed_t<T>>)active<T>(mask, i), Keys::of(source.v[i]), splat(Keys::kLast));
    });
    const auto best = fold_extreme<kMax, kChunkLanes<T> / 2>(best_chunk<kMax>(folded));
    bits_t<T> value = Keys::bits_of(best[0]);
    int lane = first_hit<T>(keys, best, mask);
    if constexpr (kIsFloat<T>) {
        if (Keys::is_nan(best[0])) [[unlikely]] {
            lane = first_nan(source, mask);
            value = lanes_of(source).at[lane];
        }
    }
    set_low_lanes(dst, value, static_cast<bits_t<T>>(lane));
}

template <bool kMax, typename T>
ASC_INLINE void reduce_extreme_blocks(Register<T>& dst, const Register<T>& source, const Predicate& mask) {
    require_number<T>();
    vf_count(VfClass::reduce);
    using Keys = OrderKeys<T, kMax>;
    constexpr int kPerBlock = kBlockBytes / static_cast<int>(sizeof(T));
    constexpr int kChunksPerBlock = kBlockBytes > kVecBytes ? kBlockBytes / kVecBytes : 1;
    Register<signed_t<T>> keys;
    each_chunk([&](auto i) __attribute__((always_inline)) {
        keys.v[i] = (Vec<signed_t<T>>)blend((Vec<signed_t<T>>)active<T>(mask, i), Keys::of(source.v[i]), splat(Keys::kLast));
    });
    each_chunk<kChunks / kChunksPerBlock>([&](auto i) __attribute__((always_inline)) {
        const auto best = best_chunk<kMax, kChunksPerBlock>(keys.v + i * kChunksPerBlock);
        keys.v[i * kChunksPerBlock] = fold_extreme<kMax, kPerBlock / kChunksPerBlock / 2>(best);
    });
    const auto folded = lanes_of(keys);
    Lanes<T> out{};
    for (int block = 0; block < kRegisterBytes / kBlockBytes; ++block) {
        const auto best = static_cast<signed_t<T>>(folded.at[block * kPerBlock]);
        out.at[block] = Keys::bits_of(best);
        if constexpr (kIsFloat<T>) {
            if (Keys::is_nan(best)) [[unlikely]]
                out.at[block] = lanes_of(source).at[first_nan(source, mask, block * kPerBlock, kPerBlock)];
        }
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
    if constexpr (std::is_same_v<T, float>) {
        VecF chunks[kChunks];
        each_chunk([&](auto i)
                       __attribute__((always_inline)) { chunks[i] = keep<float>(source.v[i], mask, i); });
        set_low_lanes(dst, bits_of(tree_sum(chunks)));
    } else if constexpr (kIsFloat<T>) {
        set_low_lanes(dst, bits_of(T(lanes_sum<T, float>(lanes_of(source), mask, 0, kLanes<T>))));
    } else {
        set_low_lanes(dst, bits_of(lanes_sum<T, S>(lanes_of(source), mask, 0, kLanes<T>)));
    }
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
