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
#include <string>
#include <type_traits>

#include "isa/memory_check.h"
#include "isa/types.h"

namespace ascend::isa {

template <typename T>
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
}

// "bool", "i32", "u8", "f32", "bf16", ..; "f32*" for a pointer, "void*" for one without an element type the launcher
// knows; "struct:16:8" for any other parameter, its size and alignment.
template <typename T>
std::string parameter_type() {
    using V = std::remove_cv_t<T>;
    if constexpr (std::is_pointer_v<V>) {
        const std::string element = parameter_type<std::remove_pointer_t<V>>();
        const bool named = element.find(':') == std::string::npos && element.back() != '*';
        return (named ? element : std::string("void")) + "*";
    } else if constexpr (std::is_void_v<V> || std::is_function_v<V>) {
        return "void";
    } else if constexpr (std::is_enum_v<V>) {
        return parameter_type<std::underlying_type_t<V>>();
    } else if constexpr (std::is_same_v<V, bool>) {
        return "bool";
    } else if constexpr (std::is_integral_v<V>) {
        return (std::is_signed_v<V> ? "i" : "u") + std::to_string(8 * sizeof(V));
    } else if constexpr (std::is_floating_point_v<V>) {
        return "f" + std::to_string(8 * sizeof(V));
    } else if constexpr (std::is_same_v<V, half>) {
        return "f16";
    } else if constexpr (std::is_same_v<V, bfloat16_t>) {
        return "bf16";
    } else if constexpr (std::is_same_v<V, float8_e4m3_t>) {
        return "e4m3";
    } else if constexpr (std::is_same_v<V, float8_e5m2_t>) {
        return "e5m2";
    } else if constexpr (std::is_same_v<V, float8_e8m0_t>) {
        return "e8m0";
    } else if constexpr (std::is_same_v<V, float4_e2m1x2_t>) {
        return "e2m1x2";
    } else if constexpr (std::is_same_v<V, float4_e1m2x2_t>) {
        return "e1m2x2";
    } else if constexpr (!requires { sizeof(V); }) {
        return "void";
    } else {
        return "struct:" + std::to_string(sizeof(V)) + ":" + std::to_string(alignof(V));
    }
}

template <typename... Args>
std::string signature_of(void (*)(Args...)) {
    std::string text;
    ((text += (text.empty() ? "" : ",") + parameter_type<Args>()), ...);
    return text;
}

template <auto kKernel>
const char* kernel_signature() {
    static const std::string text = signature_of(kKernel);
    return text.c_str();
}

}  // namespace ascend::isa
