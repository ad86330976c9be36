// SPDX-License-Identifier: MIT
// How does a block of packed arguments become a call of the kernel? The runtime calls every kernel as
// void entry(const uint8_t* args); kernel_entry<&kernel> unpacks and calls. kernel_signature<&kernel> says what to pack.
//
// Note "Argument block". The arguments in order, each at its natural alignment but at least 4; booleans travel as 32-bit
// integers, pointers as addresses (tilelang_ascend.md 2.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isa/local_arrays.h"
#include "isa/memory_check.h"
#include "isa/types.h"

namespace ascend::isa {

template <typename T>
ASC_CHECKED(ASC_UNCHECKED)  // the block is the host's
T unpack_argument(const uint8_t* args, size_t& offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    using Packed = std::conditional_t<std::is_same_v<T, bool>, int32_t, T>;
    constexpr size_t kAlignment = alignof(Packed) < 4 ? 4 : alignof(Packed);
    offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
    Packed value;
    std::memcpy(&value, args + offset, sizeof value);
    offset += sizeof value < 4 ? 4 : sizeof value;
    return static_cast<T>(value);
}

template <typename... Args>
void call_with(void (*kernel)(Args...), const uint8_t* args) {
    size_t offset = 0;
    struct Call {  // braces evaluate in order, call arguments do not
        Call(void (*function)(Args...), Args... values) { function(values...); }
    };
    Call{kernel, unpack_argument<std::remove_cv_t<Args>>(args, offset)...};
}

template <auto kKernel>
void kernel_entry(const uint8_t* args) {
    ASC_CHECKED(begin_memory_check();)
    call_with(kKernel, args);
    ASC_CHECKED(if (memory_check.pending_bytes) settle_pending_store();)
}

// What a parameter of a kernel is called: "bool", "i32", "u8", "f32", "bf16", ..; "f32*" for a pointer, "void*" for one without
// an element type the launcher knows; "struct:16:8" for any other parameter, its size and alignment.
struct TypeName {
    char text[40] = {};
    int length = 0;

    constexpr TypeName& operator+=(const char* more) {
        while (*more) text[length++] = *more++;
        return *this;
    }
    constexpr TypeName& operator+=(size_t number) {
        if (number >= 10) *this += number / 10;
        text[length++] = static_cast<char>('0' + number % 10);
        return *this;
    }
};

template <typename V>
constexpr const char* float_name() {
    if constexpr (std::is_same_v<V, half>) return "f16";
    else if constexpr (std::is_same_v<V, bfloat16_t>) return "bf16";
    else if constexpr (std::is_same_v<V, float8_e4m3_t>) return "e4m3";
    else if constexpr (std::is_same_v<V, float8_e5m2_t>) return "e5m2";
    else if constexpr (std::is_same_v<V, float8_e8m0_t>) return "e8m0";
    else if constexpr (std::is_same_v<V, float4_e2m1x2_t>) return "e2m1x2";
    else if constexpr (std::is_same_v<V, float4_e1m2x2_t>) return "e1m2x2";
    else return nullptr;
}

template <typename T>
constexpr TypeName parameter_type() {
    using V = std::remove_cv_t<T>;
    TypeName name;
    if constexpr (std::is_pointer_v<V>) {
        using Element = std::remove_cv_t<std::remove_pointer_t<V>>;
        if constexpr (std::is_arithmetic_v<Element> || std::is_enum_v<Element> || float_name<Element>()) name = parameter_type<Element>();
        else name += "void";
        name += "*";
    } else if constexpr (std::is_enum_v<V>) {
        name = parameter_type<std::underlying_type_t<V>>();
    } else if constexpr (std::is_same_v<V, bool>) {
        name += "bool";
    } else if constexpr (std::is_arithmetic_v<V>) {
        name += std::is_floating_point_v<V> ? "f" : std::is_signed_v<V> ? "i" : "u";
        name += 8 * sizeof(V);
    } else if constexpr (float_name<V>()) {
        name += float_name<V>();
    } else {
        name += "struct:";
        name += sizeof(V);
        name += ":";
        name += alignof(V);
    }
    return name;
}

// The types of all parameters, with commas.
template <typename... Args>
struct Signature {
    char text[sizeof...(Args) * sizeof(TypeName) + 1] = {};

    constexpr Signature(void (*)(Args...)) {
        char* end = text;
        const auto append = [&](const TypeName& type) {
            if (end != text) *end++ = ',';
            for (int i = 0; i < type.length; ++i) *end++ = type.text[i];
        };
        (append(parameter_type<Args>()), ...);
    }
};

template <auto kKernel>
const char* kernel_signature() {
    static constexpr Signature kSignature(kKernel);
    return kSignature.text;
}

}  // namespace ascend::isa
