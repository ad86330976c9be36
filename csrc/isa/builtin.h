// SPDX-License-Identifier: MIT
// Which built-in variables and macros does kernel text use? block_idx, the core guards, assert and printf.
#pragma once

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
template <typename T>
constexpr T printed(T value) {
    return value;
}
inline int printed(asc_block_index index) { return index; }
}  // namespace ascend::isa
