// SPDX-License-Identifier: MIT
// SIMT built-ins that the wheel's templates mention. Executing SIMT functions is not implemented: these are declarations
// of templates that no recorded program instantiates, so a kernel that does fails to link and names the function.
#pragma once

#include "isa/builtin.h"
#include "isa/simt_types.h"

struct asc_thread_index {
    operator int() const;
};
inline constexpr struct {
    asc_thread_index x, y, z;
} threadIdx{};

void asc_syncthreads();
template <typename T>
T asc_shfl_xor(T value, int lane_mask);
template <typename T>
T asc_reduce_add(T value);
template <typename T>
T asc_reduce_max(T value);
template <typename T>
T asc_reduce_min(T value);
