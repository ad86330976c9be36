// SPDX-License-Identifier: MIT
// What "pinned" host memory is here: ordinary memory that is remembered as pinned.
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace ascend::npu {

at::HostAllocator* pinned_allocator();
bool is_pinned(const void* p);

}  // namespace ascend::npu
