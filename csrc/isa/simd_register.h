// SPDX-License-Identifier: MIT
// What are a vector register and a predicate on the host, and how does an instruction walk over their lanes?
//
// Note "Register". 256 bytes, kept as chunks of the host's vector size. A narrow element sits where the chip has it, so
// reinterpreting a register (as kernels do all the time) costs nothing. 16-bit floats compute in fp32 on the even and
// the odd elements of each 32-bit word, which needs no move across lanes.
// Note "Predicate". The chip has one bit per byte of a register; here that is one byte, 0x00 or 0xff. An instruction on
// wider lanes looks at the lane's lowest bit only; predicates are written with every bit of a lane set. Which of the two
// the chip writes is not published (tilelang_ascend.md 7); kernels that mix widths see the difference, and this choice
// agreed with all of the study's results.
#pragma once

#include <utility>

#include "host/vec.h"
#include "isa/types.h"
#include "isa/vf.h"

#define ASC_INLINE __attribute__((always_inline)) inline

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

using host::all_ones;
using host::kVecBytes;
using host::masked_store;
using host::Vec;
using host::VecF;

constexpr int kRegisterBytes = 256;
constexpr int kBlockBytes = 32;
constexpr int kChunks = kRegisterBytes / kVecBytes;

template <int kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
    using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
    using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
    using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
    using type = uint64_t;
};

// bits_t: the unsigned integer of a lane. lane_t: what the chunk's generic vector holds; float and integers as they are.
template <typename T>
using bits_t = typename UnsignedOf<sizeof(T)>::type;
template <typename T>
using signed_t = std::make_signed_t<bits_t<T>>;
template <typename T>
using lane_t =
    typename std::conditional_t<std::is_arithmetic_v<T>, std::type_identity<T>, UnsignedOf<sizeof(T)>>::type;

template <typename T>
constexpr int kLanes = kRegisterBytes / static_cast<int>(sizeof(T));
template <typename T>
constexpr int kChunkLanes = kVecBytes / static_cast<int>(sizeof(T));
template <typename T>
constexpr bool kIsFloat16 = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;
template <typename T>
constexpr bool kIsFloat = std::is_same_v<T, float> || kIsFloat16<T>;

// What the vector unit computes on: the codes of narrower floats would be added and compared as if they were integers.
template <typename T>
constexpr void require_number() {
    static_assert(std::is_integral_v<T> || kIsFloat<T>,
                  "the vector unit computes on integers, float, half and bfloat16_t; registers of FP8, FP4 and e8m0 are only moved, selected, "
                  "combined bit by bit, and cast (vcvt)");
}

template <typename T>
struct alignas(64) Register {
    using element = T;
    Vec<lane_t<T>> v[kChunks];
};
struct alignas(64) Predicate {
    Vec<uint8_t> v[kChunks];
};

// A number that is a type. std::integral_constant's conversion is not inlined by clang into code with other instrumentation.
template <int i>
struct Number {
    ASC_INLINE constexpr operator int() const { return i; }
};

// Calls f(0) .. f(kCount - 1). Unrolled where a register is few chunks, so that registers live in host registers.
template <int kCount = kChunks, typename F>
ASC_INLINE void each_chunk(F f) {
    if constexpr (kCount <= 8) {
        [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
            (f(Number<i>{}), ...);
        }(std::make_integer_sequence<int, kCount>{});
    } else {
        for (int i = 0; i < kCount; ++i)
            f(i);
    }
}

template <typename T>
ASC_INLINE Vec<T> splat(T value) {
    return value - Vec<T>{};  // not + : that would lose the sign of -0.0
}

// A constant chunk: element i is f(i).
template <typename T, typename F>
ASC_INLINE constexpr Vec<T> make_chunk(F f) {
    return [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
        return Vec<T>{static_cast<T>(f(i))...};
    }(std::make_integer_sequence<int, kVecBytes / static_cast<int>(sizeof(T))>{});
}

// All bits of an active lane, no bit of another.
template <typename T>
ASC_INLINE Vec<bits_t<T>> active(const Predicate& mask, int chunk) {
    if constexpr (sizeof(T) == 1) {
        return mask.v[chunk];
    } else {
        return -((Vec<bits_t<T>>)mask.v[chunk] & bits_t<T>{1});
    }
}

template <typename T, typename V>
ASC_INLINE Vec<lane_t<T>> keep(V value, const Predicate& mask, int chunk) {
    return (Vec<lane_t<T>>)((Vec<bits_t<T>>)value & active<T>(mask, chunk));
}

template <typename V, typename M>
ASC_INLINE V blend(M where, V yes, V no) {
    return (V)(((M)yes & where) | ((M)no & ~where));
}

// The same for what a comparison gave. Compilers keep that in a mask register, and see minima and maxima.
template <typename V, typename M>
ASC_INLINE V choose(M where, V yes, V no) {
    return where ? yes : no;
}

// Vectors of binary32 bits and of 16-bit codes in 32-bit lanes.
using VecU = Vec<uint32_t>;
using VecS = Vec<int32_t>;

ASC_INLINE VecF as_float(VecU bits) { return (VecF)bits; }
ASC_INLINE VecU as_bits(VecF value) { return (VecU)value; }
ASC_INLINE VecF pick(VecS where, VecF yes, VecF no) { return choose(where, yes, no); }
ASC_INLINE VecU pick(VecS where, VecU yes, VecU no) { return choose(where, yes, no); }

// One instruction: f on each chunk of the sources, zero where masked off. f sees Vec<lane_t<T>>, or, for 16-bit floats,
// VecF of the even and then of the odd elements.
template <typename T>
VecF widen(VecU codes);
template <typename T>
VecU narrow(VecF values);

template <typename T>
ASC_INLINE VecF even_lanes(Vec<uint16_t> chunk) {
    if constexpr (std::is_same_v<T, bfloat16_t>) return widen<T>((VecU)chunk);  // shifts the odd one out
    else return widen<T>((VecU)chunk & 0xffffu);
}
template <typename T>
ASC_INLINE VecF odd_lanes(Vec<uint16_t> chunk) {
    return widen<T>((VecU)chunk >> 16);
}

template <typename T, typename F, typename... Sources>
ASC_INLINE void lanewise(Register<T>& dst, const Predicate& mask, F f, const Sources&... sources) {
    require_number<T>();
    each_chunk([&](auto i) __attribute__((always_inline)) {
        if constexpr (kIsFloat16<T>) {
            const VecU even = narrow<T>(f(even_lanes<T>(sources.v[i])...));
            const VecU odd = narrow<T>(f(odd_lanes<T>(sources.v[i])...));
            dst.v[i] = keep<T>(even | odd << 16, mask, i);
        } else {
            dst.v[i] = keep<T>(f(sources.v[i]...), mask, i);
        }
    });
}

// Lanes in memory, for instructions whose lanes move or that are rare.
template <typename T>
struct alignas(64) Lanes {
    bits_t<T> at[kLanes<T>];
};
template <typename T>
ASC_INLINE Lanes<T> lanes_of(const Register<T>& source) {
    Lanes<T> lanes;
    std::memcpy(&lanes, &source, kRegisterBytes);
    return lanes;
}
template <typename T>
ASC_INLINE void set_lanes(Register<T>& dst, const Lanes<T>& lanes) {
    std::memcpy(&dst, &lanes, kRegisterBytes);
}
template <typename T>
ASC_INLINE bool is_active(const Predicate& mask, int lane) {
    return reinterpret_cast<const uint8_t*>(&mask)[lane * static_cast<int>(sizeof(T))] & 1;
}

// Rules of addresses in UB.
template <typename T>
ASC_INLINE void check_aligned(const char* instruction, const T* address) {
    if (reinterpret_cast<uintptr_t>(address) % kBlockBytes) [[unlikely]]
        vector_fault(instruction, "the address is not 32-byte aligned", address);
}
template <typename T>
ASC_INLINE void check_element(const char* instruction, const T* address) {
    if (reinterpret_cast<uintptr_t>(address) % sizeof(T)) [[unlikely]]
        vector_fault(instruction, "the address is not aligned to its element", address);
}

// A scalar operand as it stands in the lanes of a register of T.
template <typename T, typename U>
ASC_INLINE T scalar_as(U value) {
    if constexpr (std::is_same_v<T, U>) return value;
    else if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
    else return T(static_cast<float>(value));
}
template <typename T>
ASC_INLINE bits_t<T> bits_of(T value) {
    return __builtin_bit_cast(bits_t<T>, value);
}

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {
using vector_f32 = ascend::isa::Register<float>;
using vector_f16 = ascend::isa::Register<half>;
using vector_bf16 = ascend::isa::Register<bfloat16_t>;
using vector_f8e4m3 = ascend::isa::Register<float8_e4m3_t>;
using vector_f8e5m2 = ascend::isa::Register<float8_e5m2_t>;
using vector_f8e8m0 = ascend::isa::Register<float8_e8m0_t>;
using vector_f4e2m1x2 = ascend::isa::Register<float4_e2m1x2_t>;
using vector_f4e1m2x2 = ascend::isa::Register<float4_e1m2x2_t>;
using vector_u8 = ascend::isa::Register<uint8_t>;
using vector_u16 = ascend::isa::Register<uint16_t>;
using vector_u32 = ascend::isa::Register<uint32_t>;
using vector_u64 = ascend::isa::Register<uint64_t>;
using vector_s8 = ascend::isa::Register<int8_t>;
using vector_s16 = ascend::isa::Register<int16_t>;
using vector_s32 = ascend::isa::Register<int32_t>;
using vector_s64 = ascend::isa::Register<int64_t>;
using vector_uint8_t = vector_u8;
using vector_uint16_t = vector_u16;
using vector_uint32_t = vector_u32;
using vector_uint64_t = vector_u64;
using vector_int8_t = vector_s8;
using vector_int16_t = vector_s16;
using vector_int32_t = vector_s32;
using vector_int64_t = vector_s64;
using vector_float = vector_f32;
using vector_half = vector_f16;
using vector_bfloat16_t = vector_bf16;
using vector_bool = ascend::isa::Predicate;
}  // namespace ASCEND_SIM_VEC
