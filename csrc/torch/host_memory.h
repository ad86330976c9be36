// SPDX-License-Identifier: MIT
// What "pinned" host memory is here: ordinary memory that is remembered as pinned.
#pragma once

#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Winterference-size"    // PyTorch's header; layout across compilers does not matter here
#endif
#include <ATen/core/CachingHostAllocator.h>
#pragma GCC diagnostic pop

namespace ascend::npu {

at::HostAllocator* pinned_allocator();
bool is_pinned(const void* p);

}  // namespace ascend::npu
