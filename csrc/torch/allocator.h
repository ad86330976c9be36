// SPDX-License-Identifier: MIT
// Where the memory of npu tensors comes from.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

namespace ascend::npu {

c10::Allocator* device_allocator();
c10::DataPtr allocate_on(int device, size_t bytes);

// Grows or shrinks an npu storage to exactly `bytes`, keeping what fits.
void resize_storage(c10::StorageImpl& storage, size_t bytes);

// While one is alive, this thread's CPU allocations are taken from the HBM of `device`: results of CPU kernels that run as
// fallbacks can then become npu tensors without a copy, are counted, and are aligned as on the device.
class CpuAllocationsFromHbm {
public:
    explicit CpuAllocationsFromHbm(int device);
    ~CpuAllocationsFromHbm();
    CpuAllocationsFromHbm(const CpuAllocationsFromHbm&) = delete;
    CpuAllocationsFromHbm& operator=(const CpuAllocationsFromHbm&) = delete;

private:
    int before_;
};

// Puts the allocator that looks for the above in front of PyTorch's own CPU allocator. Called once, at load.
void install_cpu_allocator();

}  // namespace ascend::npu
