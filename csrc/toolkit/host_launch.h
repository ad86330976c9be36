// SPDX-License-Identifier: MIT
// How does a launcher in host code start a kernel of the same text? name<<<blocks, ub_bytes, stream>>>(arguments) is
// rewritten to ascend::toolkit::launch<&name>("name", cores, blocks, ub_bytes, stream, arguments).
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "isa/kernel_entry.h"
#include "toolkit/acl.h"

namespace ascend::toolkit {

// The counterpart of isa::unpack_argument: the note "Argument block" in isa/kernel_entry.h.
template <typename T>
void pack_argument(std::vector<uint8_t>& block, T argument) {
    using Packed = std::conditional_t<std::is_same_v<T, bool>, int32_t, T>;
    constexpr size_t kAlignment = alignof(Packed) < 4 ? 4 : alignof(Packed);
    const Packed value = static_cast<Packed>(argument);
    const size_t begin = (block.size() + kAlignment - 1) / kAlignment * kAlignment;
    block.resize(begin + (sizeof value < 4 ? 4 : sizeof value));
    std::memcpy(block.data() + begin, &value, sizeof value);
}

template <auto kKernel, typename... Parameters, typename... Arguments>
int32_t launch_as(void (*)(Parameters...), const char* name, int core_type, uint32_t blocks, uint32_t ub_bytes, void* stream, Arguments... arguments) {
    static_assert(sizeof...(Parameters) == sizeof...(Arguments), "as many arguments as the kernel has parameters");
    std::vector<uint8_t> block;
    (pack_argument<std::remove_cv_t<Parameters>>(block, (Parameters)(arguments)), ...);
    block.resize(block.size() + 8);
    return ascend_sim_acl_launch(name, core_type, reinterpret_cast<void*>(&isa::kernel_entry<kKernel>), blocks, ub_bytes, stream,
                                 block.data(), block.size());
}

template <auto kKernel, typename... Arguments>
int32_t launch(const char* name, int core_type, uint32_t blocks, uint32_t ub_bytes, void* stream, Arguments... arguments) {
    return launch_as<kKernel>(kKernel, name, core_type, blocks, ub_bytes, stream, arguments...);
}

}  // namespace ascend::toolkit
