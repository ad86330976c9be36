// SPDX-License-Identifier: MIT
// Which built-in variables and functions does kernel text use? block_idx, the core guards, assert and printf.
#pragma once

#include <cassert>
#include <cstdio>

#include "isa/core_context.h"
#include "isa/vf.h"

// Objects, not macros: vector functions have parameters of the same name.
struct asc_block_index {
    operator int() const { return ascend::isa::block_index(); }
};
inline constexpr asc_block_index block_idx{};
inline constexpr struct {
    asc_block_index x;
} blockIdx{};

// The generator writes the macro directly after `if`.
#define ASC_IS_AIC (ascend::isa::on_cube_core())
#define ASC_IS_AIV (ascend::isa::on_vector_core())

namespace ascend::isa {

[[noreturn, gnu::cold, gnu::visibility("default")]] void device_assert_failed(const char* condition);
// To standard output. What a core has printed last is part of the message when an assertion of its fails.
[[gnu::visibility("default")]] void device_print(const char* pattern, ...);

// An object that is no arithmetic type must not travel through "...".
template <typename T>
constexpr T printed(T value) {
    return value;
}
inline int printed(asc_block_index index) { return index; }
template <typename... Args>
inline void device_printf(const char* pattern, Args... args) {
    device_print(pattern, printed(args)...);
}

}  // namespace ascend::isa
