// SPDX-License-Identifier: MIT
// How does a block of packed arguments become a call of the kernel? The runtime calls every kernel as
// void entry(const uint8_t* args); kernel_entry<&kernel> unpacks and calls.
//
// Note "Argument block". The arguments in order, each at its natural alignment but at least 4; booleans travel as 32-bit
// integers, pointers as addresses (tilelang_ascend.md 2.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

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
    call_with(kKernel, args);
}

}  // namespace ascend::isa
