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

// An object that is no arithmetic type must not travel through "...".
template <typename T>
constexpr T printed(T value) {
    return value;
}
inline int printed(asc_block_index index) { return index; }
template <typename... Args>
inline void device_printf(const char* pattern, Args... args) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
    std::printf(pattern, printed(args)...);
    std::fflush(stdout);  // Python's own output goes through another buffer
#pragma GCC diagnostic pop
}

}  // namespace ascend::isa
