// SPDX-License-Identifier: MIT
// Re-labelling of storages and tensors between npu and CPU.
#include "torch/cpu_views.h"

#include <ATen/core/TensorBase.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>

#include <cstring>

#include "chip/hbm.h"
#include "torch/devices.h"

namespace ascend::npu {
namespace {

constexpr size_t kLinearSearchLimit = 24;

void release_storage(void* context) {
    c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(context));
}

// A pointer to the bytes of `storage` that keeps it alive.
c10::DataPtr shared_bytes(const c10::Storage& storage, c10::Device device) {
    c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
    c10::raw::intrusive_ptr::incref(impl);
    return {impl->mutable_data(), impl, &release_storage, device};
}

// Everything of `from` except its storage and device, conjugate and negative bits included: a kernel that never heard of a
// pending conjugation returns wrong numbers, or worse.
at::Tensor relabelled(const at::Tensor& from, c10::Storage storage, c10::DispatchKey backend) {
    c10::DispatchKeySet keys(backend);
    if (from._is_zerotensor()) keys = keys.add(c10::DispatchKey::ZeroTensor);
    at::Tensor to = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, from.dtype());
    c10::TensorImpl* impl = to.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
    if (from.is_conj()) impl->_set_conj(true);
    if (from.is_neg()) impl->_set_neg(true);
    if (from.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    return to;
}

}  // namespace

CpuViews::CpuViews(int device) : device_(device), from_hbm_(device) { check_not_forked(); }

CpuViews::Tensors* CpuViews::find_tensor(const c10::TensorImpl* impl, bool by_npu) {
    if (tensors_.size() > kLinearSearchLimit) {
        const auto found = tensor_index_.find(impl);
        return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
    }
    for (Tensors& t : tensors_)
        if ((by_npu ? t.npu : t.cpu).unsafeGetTensorImpl() == impl) return &t;
    return nullptr;
}

const c10::Storage& CpuViews::view_of_storage(const c10::Storage& npu) {
    const c10::StorageImpl* impl = npu.unsafeGetStorageImpl();
    if (storages_.size() > kLinearSearchLimit) {
        if (const auto found = storage_index_.find(impl); found != storage_index_.end()) return storages_[found->second].cpu;
    } else {
        for (const Storages& s : storages_)
            if (s.npu.unsafeGetStorageImpl() == impl) return s.cpu;
    }
    c10::Storage cpu(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), npu.nbytes(),
                                                           shared_bytes(npu, c10::Device(c10::DeviceType::CPU)),
                                                           c10::GetCPUAllocator(), /*resizable=*/true));
    storages_.push_back({npu, std::move(cpu), npu.unsafeGetStorageImpl()->mutable_data(), npu.nbytes()});
    const size_t last = storages_.size() - 1;
    if (last == kLinearSearchLimit)
        for (size_t i = 0; i < last; ++i) {
            storage_index_[storages_[i].npu.unsafeGetStorageImpl()] = i;
            storage_index_[storages_[i].cpu.unsafeGetStorageImpl()] = i;
        }
    if (last >= kLinearSearchLimit) {
        storage_index_[impl] = last;
        storage_index_[storages_[last].cpu.unsafeGetStorageImpl()] = last;
    }
    return storages_[last].cpu;
}

at::Tensor CpuViews::view(const at::Tensor& npu) {
    if (const Tensors* known = find_tensor(npu.unsafeGetTensorImpl(), /*by_npu=*/true)) return known->cpu;
    TORCH_CHECK_NOT_IMPLEMENTED(npu.layout() == c10::kStrided && npu.has_storage(), "npu: a tensor of layout ", npu.layout(),
                                " cannot be passed to a CPU kernel; expected a strided tensor");
    at::Tensor cpu = relabelled(npu, view_of_storage(npu.storage()), c10::DispatchKey::CPU);
    tensors_.push_back({npu, cpu, cpu.storage().unsafeGetStorageImpl()});
    const size_t last = tensors_.size() - 1;
    if (last == kLinearSearchLimit)
        for (size_t i = 0; i < last; ++i) {
            tensor_index_[tensors_[i].npu.unsafeGetTensorImpl()] = i;
            tensor_index_[tensors_[i].cpu.unsafeGetTensorImpl()] = i;
        }
    if (last >= kLinearSearchLimit) {
        tensor_index_[npu.unsafeGetTensorImpl()] = last;
        tensor_index_[cpu.unsafeGetTensorImpl()] = last;
    }
    return cpu;
}

void CpuViews::keep_on_host(const at::Tensor& cpu) {
    if (cpu.defined() && cpu.has_storage()) host_storages_.push_back(cpu.storage().unsafeGetStorageImpl());
}

// The memory of a CPU storage under the npu label. Usually it came from HBM and nobody else holds it: then it just moves.
c10::DataPtr CpuViews::take_over(const c10::Storage& cpu, bool is_exclusive) {
    const c10::Device npu(kNpu, static_cast<c10::DeviceIndex>(device_));
    c10::StorageImpl* impl = cpu.unsafeGetStorageImpl();
    void* data = impl->mutable_data();
    if (!data) return {nullptr, npu};
    if (impl->nbytes() > 0 && !hbm(device_).contains(data)) {
        // Ordinary memory: allocated by another thread, or a mapped file. Kernels of the chip only reach HBM.
        c10::DataPtr copy = allocate_on(device_, impl->nbytes());
        std::memcpy(copy.get(), data, impl->nbytes());
        return copy;
    }
    // The comparison comes first: some kernels leave a storage with an allocator that lived on their stack.
    if (is_exclusive && impl->allocator() == c10::GetCPUAllocator() && impl->allocator()->is_simple_data_ptr(impl->data_ptr())) {
        c10::DataPtr moved = impl->set_data_ptr(c10::DataPtr(data, c10::Device(c10::DeviceType::CPU)));
        moved.unsafe_set_device(npu);
        return moved;
    }
    return shared_bytes(cpu, npu);
}

void CpuViews::commit() {
    for (Storages& s : storages_) {
        c10::StorageImpl* cpu = s.cpu.unsafeGetStorageImpl();
        if (cpu->data() == s.data && cpu->nbytes() == s.nbytes) continue;
        c10::StorageImpl* npu = s.npu.unsafeGetStorageImpl();
        npu->set_data_ptr_noswap(take_over(s.cpu, /*is_exclusive=*/true));
        npu->set_nbytes(cpu->nbytes());
        s.data = npu->mutable_data();
        s.nbytes = npu->nbytes();
    }
    for (Tensors& t : tensors_) {
        c10::TensorImpl* npu = t.npu.unsafeGetTensorImpl();
        if (t.cpu.storage().unsafeGetStorageImpl() != t.cpu_storage) 
            npu->set_storage_keep_dtype(npu_storage_of(t.cpu.storage(), /*is_exclusive=*/false));
        if (t.cpu.sizes() != t.npu.sizes() || t.cpu.strides() != t.npu.strides() ||
            t.cpu.storage_offset() != t.npu.storage_offset())
            npu->set_sizes_and_strides(t.cpu.sizes(), t.cpu.strides(), t.cpu.storage_offset());
    }
}

c10::Storage CpuViews::npu_storage_of(const c10::Storage& cpu, bool is_exclusive) {
    const c10::StorageImpl* impl = cpu.unsafeGetStorageImpl();
    if (storages_.size() > kLinearSearchLimit) {
        if (const auto found = storage_index_.find(impl); found != storage_index_.end()) return storages_[found->second].npu;
    } else {
        for (const Storages& s : storages_)
            if (s.cpu.unsafeGetStorageImpl() == impl) return s.npu;
    }
    for (const auto& [known, npu] : new_storages_)
        if (known.unsafeGetStorageImpl() == impl) return npu;
    const size_t nbytes = cpu.nbytes();
    c10::Storage npu(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes,
                                                           take_over(cpu, is_exclusive), device_allocator(), /*resizable=*/true));
    new_storages_.push_back({cpu, npu});
    return npu;
}

bool CpuViews::is_view_of_argument(const at::Tensor& cpu) const {
    if (!cpu.defined() || !cpu.has_storage()) return false;
    const c10::StorageImpl* impl = cpu.storage().unsafeGetStorageImpl();
    if (storages_.size() > kLinearSearchLimit) return storage_index_.count(impl) > 0;
    for (const Storages& s : storages_)
        if (s.cpu.unsafeGetStorageImpl() == impl) return true;
    return false;
}

at::Tensor CpuViews::result(const at::Tensor& cpu) {
    if (!cpu.defined() || !cpu.is_cpu()) return cpu;
    if (const Tensors* argument = find_tensor(cpu.unsafeGetTensorImpl(), /*by_npu=*/false)) return argument->npu;
    TORCH_CHECK_NOT_IMPLEMENTED(cpu.layout() == c10::kStrided && !cpu.is_quantized() && cpu.has_storage(),
                                "npu: the result is a ", cpu.is_quantized() ? "quantized" : "non-strided", " tensor (layout ",
                                cpu.layout(), "), which the device npu does not have; move the inputs to the CPU first");
    for (const c10::StorageImpl* host : host_storages_)
        if (cpu.storage().unsafeGetStorageImpl() == host) return cpu;
    // A CPU kernel written in Python may keep what it returned; then the memory stays its own and is shared.
    const bool is_exclusive = cpu.use_count() == 1 && cpu.storage().use_count() == 1;
    return relabelled(cpu, npu_storage_of(cpu.storage(), is_exclusive), c10::DispatchKey::PrivateUse1);
}

}  // namespace ascend::npu
