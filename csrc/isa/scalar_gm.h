// SPDX-License-Identifier: MIT
// Scalar access to global memory past the data cache of the core: 1, 2, 4 or 8 bytes, unsigned (tilelang_ascend.md 5).
#pragma once

#include <type_traits>

#include "isa/sync.h"

namespace ascend::isa {
[[gnu::noinline]] void scalar_gm_access(const char* name, const void* address, uint32_t bytes, bool is_write, const void* pc);
template <class T>
concept scalar_gm_type = std::is_unsigned_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;
}  // namespace ascend::isa

template <ascend::isa::scalar_gm_type T>
ASCEND_SIM_INSTRUCTION T asc_load_dev(const __gm__ T* address) {
    ascend::isa::scalar_gm_access("asc_load_dev", address, sizeof(T), false, ASCEND_SIM_HERE);
    return *static_cast<const volatile T*>(address);
}
template <ascend::isa::scalar_gm_type T>
ASCEND_SIM_INSTRUCTION void asc_store_dev(__gm__ T* address, std::type_identity_t<T> value) {
    ascend::isa::scalar_gm_access("asc_store_dev", address, sizeof(T), true, ASCEND_SIM_HERE);
    *static_cast<volatile T*>(address) = value;
}
