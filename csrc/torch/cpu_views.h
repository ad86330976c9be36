// SPDX-License-Identifier: MIT
// How a CPU kernel runs on npu tensors without copying: the same bytes under a CPU label, and the results back under npu's.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <unordered_map>

#include "torch/allocator.h"

namespace ascend::npu {

// The tensors of one operator call. Usage: view() every npu argument, run the CPU kernel, commit(), then result() every tensor
// that it returned. While it lives, CPU allocations of this thread come from the device's HBM.
class CpuViews {
public:
    explicit CpuViews(int device);

    // A CPU tensor on the bytes of `npu`; tensors that share a storage keep sharing one, the same tensor keeps its identity.
    at::Tensor view(const at::Tensor& npu);
    // Remembers a CPU argument, which must not turn into an npu tensor when the kernel returns it.
    void keep_on_host(const at::Tensor& cpu);

    // Carries over what the kernel did to its arguments besides their bytes: out= arguments may have been resized.
    void commit();
    // The npu tensor for what the kernel returned: an argument itself, a view of one, or new memory taken over as it is.
    at::Tensor result(const at::Tensor& cpu);

    int device() const { return device_; }
    // Whether result(cpu) would be an argument or a view of one.
    bool is_view_of_argument(const at::Tensor& cpu) const;

private:
    struct Tensors {
        at::Tensor npu, cpu;
        c10::StorageImpl* cpu_storage;
    };
    struct Storages {
        c10::Storage npu, cpu;
        void* data;         // when the view was made
        size_t nbytes;
    };
    Tensors* find_tensor(const c10::TensorImpl* impl, bool by_npu);
    const c10::Storage& view_of_storage(const c10::Storage& npu);
    c10::Storage npu_storage_of(const c10::Storage& cpu, bool is_exclusive);
    c10::DataPtr take_over(const c10::Storage& cpu, bool is_exclusive);

    const int device_;
    CpuAllocationsFromHbm from_hbm_;
    c10::SmallVector<Tensors, 6> tensors_;
    c10::SmallVector<Storages, 6> storages_;
    c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 2> new_storages_;       // cpu, npu
    c10::SmallVector<const c10::StorageImpl*, 2> host_storages_;
    // Only filled for long argument lists (foreach operators), where looking at every entry would be quadratic.
    std::unordered_map<const void*, size_t> tensor_index_, storage_index_;
};

}  // namespace ascend::npu
