// SPDX-License-Identifier: MIT
// Vector loads and stores between UB and registers, gather and scatter. Offsets and indices count elements.
//
// Contiguous loads and stores need 32-byte alignment (ascend950.md 2.1, UB); the forms that touch single elements or
// narrow halves need that of their element only. A masked store touches active lanes only.
#pragma once

#include "isa/memory_check.h"
#include "isa/simd_float.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

#if defined(ASCEND_SIM_CHECK_MEMORY)
// Elements of kBytes that are on by the lowest bit of the mask's byte at their place, `kSpread` mask bytes an element.
template <int kBytes, int kSpread>
ASC_INLINE void check_masked_store(const char* name, const void* address, const Predicate& mask) {
    Vec<uint8_t> every = ~Vec<uint8_t>{};
    each_chunk([&](auto i) __attribute__((always_inline)) { every &= mask.v[i]; });
    if (all_ones(every)) return check_store<256 / kSpread * kBytes>(name, address);
    const auto* to = static_cast<const uint8_t*>(address);
    for (int i = 0; i < 256 / kSpread; ++i)
        if (reinterpret_cast<const uint8_t*>(&mask)[i * kSpread] & 1) check_store<kBytes>(name, to + i * kBytes);
}
#endif

template <typename T>
ASC_INLINE Vec<lane_t<T>> load_chunk(const void* from) {
    Vec<lane_t<T>> chunk;
    std::memcpy(&chunk, from, kVecBytes);
    return chunk;
}
template <typename T>
ASC_INLINE const uint8_t* byte_pointer(const T* pointer) {
    return reinterpret_cast<const uint8_t*>(pointer);
}

// The register made of lanes f(0) .. f(n - 1), as their bits.
template <typename T, typename F>
ASC_INLINE void build(Register<T>& dst, F f) {
    Lanes<T> lanes;
    for (int i = 0; i < kLanes<T>; ++i)
        lanes.at[i] = f(i);
    set_lanes(dst, lanes);
}

// Each element of kBytes followed by zeros up to Wide. The destination register keeps the narrow element type.
template <typename Wide, typename T>
ASC_INLINE void load_unpacked(Register<T>& dst, const T* from) {
    using Narrow = Vec<bits_t<T>, kVecBytes / static_cast<int>(sizeof(Wide) / sizeof(T))>;
    each_chunk([&](auto i) __attribute__((always_inline)) {
        Narrow part;
        std::memcpy(&part, byte_pointer(from) + i * sizeof(Narrow), sizeof(Narrow));
        dst.v[i] = (Vec<lane_t<T>>)host::zero_extended<Wide>(part);
    });
}

// The low bits of each Wide lane, packed; only lanes active by the wide lane's bit.
template <typename Wide, typename Thin>
ASC_INLINE void store_packed(void* to, const void* source, const Predicate& mask) {
    using Narrow = Vec<Thin, kVecBytes / static_cast<int>(sizeof(Wide) / sizeof(Thin))>;
    Vec<uint8_t> every = ~Vec<uint8_t>{};
    each_chunk([&](auto i) __attribute__((always_inline)) { every &= (Vec<uint8_t>)active<Wide>(mask, i); });
    if (all_ones(every)) {
        each_chunk([&](auto i) __attribute__((always_inline)) {
            const Narrow part =
                host::truncated<Narrow>(load_chunk<Wide>(static_cast<const uint8_t*>(source) + i * kVecBytes));
            std::memcpy(static_cast<uint8_t*>(to) + i * sizeof(Narrow), &part, sizeof(Narrow));
        });
        return;
    }
    alignas(64) uint8_t data[kRegisterBytes], on[kRegisterBytes];
    constexpr int kBytes = sizeof(Narrow) * kChunks;
    each_chunk([&](auto i) __attribute__((always_inline)) {
        const Narrow part =
            host::truncated<Narrow>(load_chunk<Wide>(static_cast<const uint8_t*>(source) + i * kVecBytes));
        const Narrow keep_part = host::truncated<Narrow>(active<Wide>(mask, i));
        std::memcpy(data + i * sizeof(Narrow), &part, sizeof(Narrow));
        std::memcpy(on + i * sizeof(Narrow), &keep_part, sizeof(Narrow));
    });
    if constexpr (kBytes < kVecBytes) {
        for (int i = 0; i < kBytes; ++i) {
            if (on[i]) static_cast<uint8_t*>(to)[i] = data[i];
        }
    } else {
        each_chunk<kBytes / kVecBytes>([&](auto i) __attribute__((always_inline)) {
            masked_store(static_cast<uint8_t*>(to) + i * kVecBytes, load_chunk<uint8_t>(data + i * kVecBytes),
                         load_chunk<uint8_t>(on + i * kVecBytes));
        });
    }
}

// 32-byte blocks of the register to blocks `block_stride` blocks apart.
template <typename T>
ASC_INLINE void store_blocks(T* base, const Register<T>& source, int block_stride, const Predicate& mask) {
    constexpr int kPerBlock = kBlockBytes / static_cast<int>(sizeof(T));
    alignas(64) uint8_t data[kRegisterBytes];
    std::memcpy(data, &source, kRegisterBytes);
    uint8_t* to = reinterpret_cast<uint8_t*>(base);
    for (int block = 0; block < kRegisterBytes / kBlockBytes; ++block) {
        uint8_t* block_to = to + int64_t{block} * block_stride * kBlockBytes;
        const uint8_t* from = data + block * kBlockBytes;
        ASC_CHECKED(for (int j = 0; j < kPerBlock; ++j) if (is_active<T>(mask, block * kPerBlock + j))
                        check_store<sizeof(T)>("asc_storealign", block_to + j * sizeof(T));)
        uint64_t on[4];
        std::memcpy(on, reinterpret_cast<const uint8_t*>(&mask) + block * kBlockBytes, sizeof on);
        if ((on[0] & on[1] & on[2] & on[3]) == ~uint64_t{0}) {
            std::memcpy(block_to, from, kBlockBytes);
            ASC_CHECKED(check_stored<T, 32>(block_to);)
            continue;
        }
        for (int j = 0; j < kPerBlock; ++j) {
            if (is_active<T>(mask, block * kPerBlock + j))
                std::memcpy(block_to + j * sizeof(T), from + j * sizeof(T), sizeof(T));
        }
        ASC_CHECKED(check_stored<T, 32>(block_to);)
    }
}

// 8-bit sources are gathered into 16-bit lanes.
template <typename T>
using gathered_t =
    std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>, T>;

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

template <typename T>
ASC_INLINE void asc_loadalign(ascend::isa::Register<T>& dst, const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_aligned("asc_loadalign", source + offset);
    ASC_CHECKED(check_vector_load<256>("asc_loadalign", source + offset);)
    each_chunk([&](auto i) __attribute__((always_inline)) {
        dst.v[i] = load_chunk<T>(byte_pointer(source + offset) + i * kVecBytes);
    });
}

// One element to every lane.
template <typename T>
ASC_INLINE void asc_loadalign_brc_elem(ascend::isa::Register<T>& dst, const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_element("asc_loadalign_brc_elem", source + offset);
    ASC_CHECKED(check_vector_load<sizeof(T)>("asc_loadalign_brc_elem", source + offset);)
    lane_t<T> value;
    std::memcpy(&value, source + offset, sizeof value);
    each_chunk([&](auto i) __attribute__((always_inline)) { dst.v[i] = splat(value); });
}

// Half (quarter) a register of elements, each followed by as many (three times as many) zero bytes.
template <typename T>
ASC_INLINE void asc_loadalign_unpack(ascend::isa::Register<T>& dst, const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_element("asc_loadalign_unpack", source + offset);
    ASC_CHECKED(check_vector_load<128>("asc_loadalign_unpack", source + offset);)
    load_unpacked<typename UnsignedOf<2 * sizeof(T)>::type>(dst, source + offset);
}
template <typename T>
ASC_INLINE void asc_loadalign_unpack4(ascend::isa::Register<T>& dst, const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_element("asc_loadalign_unpack4", source + offset);
    ASC_CHECKED(check_vector_load<64>("asc_loadalign_unpack4", source + offset);)
    load_unpacked<typename UnsignedOf<4 * sizeof(T)>::type>(dst, source + offset);
}

// Half a register of elements, each twice.
template <typename T>
ASC_INLINE void asc_loadalign_upsample(ascend::isa::Register<T>& dst, const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_element("asc_loadalign_upsample", source + offset);
    const auto* from = reinterpret_cast<const bits_t<T>*>(source + offset);
    ASC_CHECKED(check_vector_load<128>("asc_loadalign_upsample", from);)
    build(dst, [&](int i) __attribute__((always_inline)) { return from[i / 2]; });
}
// The even ones of two registers of elements.
template <typename T>
ASC_INLINE void asc_loadalign_downsample(ascend::isa::Register<T>& dst, const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load, 2);
    check_element("asc_loadalign_downsample", source + offset);
    const auto* from = reinterpret_cast<const bits_t<T>*>(source + offset);
    ASC_CHECKED(check_vector_load<512>("asc_loadalign_downsample", from);)
    build(dst, [&](int i) __attribute__((always_inline)) { return from[2 * i]; });
}
// One 32-byte block to all eight.
template <typename T>
ASC_INLINE void asc_loadalign_brc_datablock(ascend::isa::Register<T>& dst, const T* source,
                                            int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_aligned("asc_loadalign_brc_datablock", source + offset);
    ASC_CHECKED(check_vector_load<32>("asc_loadalign_brc_datablock", source + offset);)
    const auto* from = reinterpret_cast<const bits_t<T>*>(source + offset);
    build(dst, [&](int i) __attribute__((always_inline)) { return from[i % (kBlockBytes / static_cast<int>(sizeof(T)))]; });
}
// Eight elements, each to all lanes of one 32-byte block.
template <typename T>
ASC_INLINE void asc_loadalign_brc_elem2datablock(ascend::isa::Register<T>& dst, const T* source,
                                                 int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load);
    check_element("asc_loadalign_brc_elem2datablock", source + offset);
    ASC_CHECKED(check_vector_load<8 * sizeof(T)>("asc_loadalign_brc_elem2datablock", source + offset);)
    const auto* from = reinterpret_cast<const bits_t<T>*>(source + offset);
    build(dst, [&](int i) __attribute__((always_inline)) { return from[i / (kBlockBytes / static_cast<int>(sizeof(T)))]; });
}
// Two registers of elements: the even ones and the odd ones.
template <typename T>
ASC_INLINE void asc_loadalign_deintlv(ascend::isa::Register<T>& even, ascend::isa::Register<T>& odd,
                                      const T* source, int64_t offset = 0) {
    using namespace ascend::isa;
    vf_count(VfClass::load, 2);
    check_aligned("asc_loadalign_deintlv", source + offset);
    ASC_CHECKED(check_vector_load<512>("asc_loadalign_deintlv", source + offset);)
    const auto* from = reinterpret_cast<const bits_t<T>*>(source + offset);
    build(even, [&](int i) __attribute__((always_inline)) { return from[2 * i]; });
    build(odd, [&](int i) __attribute__((always_inline)) { return from[2 * i + 1]; });
}

// The load, then the pointer advanced by `offset` elements (the load uses the old address).
#define ASC_POST_UPDATE_LOAD(name)                                                                    \
    template <typename T>                                                                             \
    ASC_INLINE void name##_postupdate(ascend::isa::Register<std::remove_const_t<T>>& dst, T*& source, \
                                      int64_t offset) {                                               \
        name(dst, static_cast<const T*>(source), 0);                                                  \
        source += offset;                                                                             \
    }
ASC_POST_UPDATE_LOAD(asc_loadalign)
ASC_POST_UPDATE_LOAD(asc_loadalign_brc_elem)
ASC_POST_UPDATE_LOAD(asc_loadalign_upsample)
ASC_POST_UPDATE_LOAD(asc_loadalign_downsample)
ASC_POST_UPDATE_LOAD(asc_loadalign_unpack)
ASC_POST_UPDATE_LOAD(asc_loadalign_unpack4)
ASC_POST_UPDATE_LOAD(asc_loadalign_brc_datablock)
ASC_POST_UPDATE_LOAD(asc_loadalign_brc_elem2datablock)
#undef ASC_POST_UPDATE_LOAD

// An address register: an offset in elements.
ASC_INLINE int32_t asc_update_addr_reg_b8(int32_t offset) { return offset; }
ASC_INLINE int32_t asc_update_addr_reg_b16(int32_t offset) { return offset; }
ASC_INLINE int32_t asc_update_addr_reg_b32(int32_t offset) { return offset; }

template <typename T>
ASC_INLINE void asc_storealign(T* base, const ascend::isa::Register<T>& source, int64_t offset,
                               const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::store);
    check_aligned("asc_storealign", base + offset);
    ASC_CHECKED(check_masked_store<sizeof(T), sizeof(T)>("asc_storealign", base + offset, mask);)
    uint8_t* to = reinterpret_cast<uint8_t*>(base + offset);
    each_chunk([&](auto i) __attribute__((always_inline)) {
        masked_store(to + i * kVecBytes, (Vec<uint8_t>)source.v[i], (Vec<uint8_t>)active<T>(mask, i));
    });
    ASC_CHECKED(check_stored<T, 256>(to);)
}
// The 32-byte blocks `block_stride` blocks apart. The repeat stride only moves the pointer of the post-update form.
template <typename T>
ASC_INLINE void asc_storealign(T* base, const ascend::isa::Register<T>& source, uint16_t block_stride,
                               uint16_t /*repeat*/, const vector_bool& mask) {
    ascend::isa::vf_count(ascend::isa::VfClass::store, 2);
    ascend::isa::check_aligned("asc_storealign", base);
    ascend::isa::store_blocks(base, source, block_stride, mask);
}
template <typename T>
ASC_INLINE void asc_storealign_postupdate(T*& base, const ascend::isa::Register<T>& source,
                                          uint16_t block_stride, uint16_t repeat_stride,
                                          const vector_bool& mask) {
    asc_storealign(base, source, block_stride, repeat_stride, mask);
    base += repeat_stride * (ascend::isa::kBlockBytes / static_cast<int>(sizeof(T)));
}
template <typename T>
ASC_INLINE void asc_storealign_postupdate(T*& base, const ascend::isa::Register<T>& source, int64_t offset,
                                          const vector_bool& mask) {
    asc_storealign(base, source, 0, mask);
    base += offset;
}

// Lane 0 only.
template <typename T>
ASC_INLINE void asc_storealign_1st(T* base, const ascend::isa::Register<T>& source, int64_t offset) {
    using namespace ascend::isa;
    vf_count(VfClass::store);
    check_element("asc_storealign_1st", base + offset);
    ASC_CHECKED(check_store<sizeof(T)>("asc_storealign_1st", base + offset);)
    std::memcpy(base + offset, &source, sizeof(T));
    ASC_CHECKED(check_stored<T, sizeof(T)>(base + offset);)
}

// The low half of each lane, packed: T is the wide lane, the offset counts it.
template <typename T>
ASC_INLINE void asc_storealign_pack(T* base, const ascend::isa::Register<T>& source, int64_t offset,
                                    const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::store);
    check_element("asc_storealign_pack", reinterpret_cast<const typename UnsignedOf<sizeof(T) / 2>::type*>(base + offset));
    ASC_CHECKED(check_masked_store<sizeof(T) / 2, sizeof(T)>("asc_storealign_pack", base + offset, mask);)
    store_packed<bits_t<T>, typename UnsignedOf<sizeof(T) / 2>::type>(base + offset, &source, mask);
    ASC_CHECKED(if constexpr (sizeof(T) == 4) check_stored<uint16_t, 128>(base + offset);)
}
// The low byte of each 32-bit lane, packed.
template <typename T>
    requires(sizeof(T) == 4)
ASC_INLINE void asc_storealign_pack_quarter(T* base, const ascend::isa::Register<T>& source, int64_t offset,
                                            const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::store);
    ASC_CHECKED(check_masked_store<1, 4>("asc_storealign_pack_quarter", base + offset, mask);)
    store_packed<uint32_t, uint8_t>(base + offset, &source, mask);
}

// dst[i] = base[index[i]] where active, 0 elsewhere. Masked-off lanes touch no memory.
template <typename T, typename I>
ASC_INLINE void asc_gather(ascend::isa::Register<ascend::isa::gathered_t<T>>& dst, const T* base,
                           const ascend::isa::Register<I>& index, const vector_bool& mask) {
    using namespace ascend::isa;
    using G = gathered_t<T>;
    vf_count(VfClass::gather, 2);
    check_element("asc_gather", base);
    const Lanes<I> at = lanes_of(index);
    Lanes<G> out{};
    for (int i = 0; i < kLanes<G> && i < kLanes<I>; ++i) {
        if (!is_active<G>(mask, i)) continue;
        T value;
        ASC_CHECKED(check_vector_load<sizeof(T)>("asc_gather", base + static_cast<bits_t<I>>(at.at[i]));)
        std::memcpy(&value, base + static_cast<bits_t<I>>(at.at[i]), sizeof value);
        if constexpr (sizeof(T) == 1) out.at[i] = static_cast<bits_t<G>>(static_cast<G>(value));
        else out.at[i] = bits_of(value);
    }
    set_lanes(dst, out);
}

// Eight 32-byte blocks from base + index[block] bytes, multiples of 32 (choice: public is "block offsets"). Block i is zero,
// and touches no memory, where lane i of the mask, as one of 32-bit lanes, is off.
template <typename T>
ASC_INLINE void asc_gather_datablock(ascend::isa::Register<T>& dst, const T* base,
                                     const ascend::isa::Register<uint32_t>& index, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::gather, 2);
    const Lanes<uint32_t> at = lanes_of(index);
    alignas(64) uint8_t blocks[kRegisterBytes] = {};
    for (int i = 0; i < kRegisterBytes / kBlockBytes; ++i) {
        if (!is_active<uint32_t>(mask, i)) continue;
        const uint8_t* from = byte_pointer(base) + at.at[i];
        check_aligned("asc_gather_datablock", from);
        ASC_CHECKED(check_vector_load<32>("asc_gather_datablock", from);)
        std::memcpy(blocks + i * kBlockBytes, from, kBlockBytes);
    }
    std::memcpy(&dst, blocks, kRegisterBytes);
}
template <typename T>
ASC_INLINE void asc_gather_datablock(ascend::isa::Register<T>& dst, const T* base,
                                     const ascend::isa::Register<uint32_t>& index) {
    ascend::isa::Predicate all;
    ascend::isa::each_chunk([&](auto i) __attribute__((always_inline)) { all.v[i] = ~ascend::isa::Vec<uint8_t>{}; });
    asc_gather_datablock(dst, base, index, all);
}

// Two registers of elements, those of the first at even places. The mask is of the lanes of each.
template <typename T>
ASC_INLINE void asc_storealign_intlv(T* base, const ascend::isa::Register<T>& even, const ascend::isa::Register<T>& odd,
                                     int64_t offset, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::store, 2);
    check_aligned("asc_storealign_intlv", base + offset);
    const Lanes<T> first = lanes_of(even), second = lanes_of(odd);
    for (int i = 0; i < kLanes<T>; ++i) {
        if (!is_active<T>(mask, i)) continue;
        ASC_CHECKED(check_store<2 * sizeof(T)>("asc_storealign_intlv", base + offset + 2 * i);)
        std::memcpy(base + offset + 2 * i, &first.at[i], sizeof(T));
        std::memcpy(base + offset + 2 * i + 1, &second.at[i], sizeof(T));
        ASC_CHECKED(check_stored<T, 2 * sizeof(T)>(base + offset + 2 * i);)
    }
}
// TileLang's templates name this form, but an interleaving store has two sources: what it would store is not published.
template <typename T>
void asc_storealign_intlv(T*, const ascend::isa::Register<T>&, int64_t, const vector_bool&) {
    static_assert(sizeof(T) == 0, "asc_storealign_intlv with one source register is known but not implemented; "
                                  "asc_storealign_intlv(base, even, odd, offset, mask) stores two");
}

// base[index[i]] = source[i] where active; of equal indices the highest lane stays.
template <typename T, typename I>
ASC_INLINE void asc_scatter(T* base, const ascend::isa::Register<T>& source,
                            const ascend::isa::Register<I>& index, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::gather, 2);
    check_element("asc_scatter", base);
    const Lanes<I> at = lanes_of(index);
    const Lanes<T> value = lanes_of(source);
    for (int i = 0; i < kLanes<T> && i < kLanes<I>; ++i) {
        if (!is_active<T>(mask, i)) continue;
        ASC_CHECKED(check_store<sizeof(T)>("asc_scatter", base + static_cast<bits_t<I>>(at.at[i]));)
        std::memcpy(base + static_cast<bits_t<I>>(at.at[i]), &value.at[i], sizeof(T));
        ASC_CHECKED(check_stored<T, sizeof(T)>(base + static_cast<bits_t<I>>(at.at[i]));)
    }
}

}  // namespace ASCEND_SIM_VEC
