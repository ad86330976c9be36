// SPDX-License-Identifier: MIT
// How the memory of an npu tensor becomes memory of several processes.
#pragma once

#include <ATen/core/Tensor.h>

namespace ascend::npu {

// Moves the storage of `npu` into memory that other processes can map, unless it is there already, and returns a new descriptor of it.
// Tensors on the storage stay as they are, but their addresses change.
int share_storage(const at::Tensor& npu);

// The first `bytes` behind a descriptor from share_storage, of whichever process, as a uint8 tensor in the HBM of `device`. The
// descriptor stays the caller's.
at::Tensor open_shared(int descriptor, int64_t bytes, int device);

}  // namespace ascend::npu
