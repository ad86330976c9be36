// SPDX-License-Identifier: MIT
// The operators that create npu tensors, change their shape or storage, and copy between devices.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_local_scalar_dense_ops.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zero_ops.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/accumulate.h>
#include <torch/library.h>

#include "chip/hbm.h"
#include "chip/timeline.h"
#include "torch/allocator.h"
#include "torch/cpu_views.h"
#include "torch/devices.h"
#include "torch/estimate.h"
#include "torch/graph.h"
#include "torch/host_memory.h"

namespace ascend::npu {
namespace {

constexpr c10::DispatchKeySet kNpuKeys(c10::DispatchKey::PrivateUse1);
constexpr c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU);

bool is_npu(const at::Tensor& t) { return t.device().type() == kNpu; }

// Creation. The allocator works on the current device, so that becomes the one asked for.

class OnDevice {
public:
    explicit OnDevice(std::optional<c10::Device> device) : before_(current_device()) {
        set_current_device(device ? index_of(*device) : before_);
    }
    ~OnDevice() { set_current_device(before_); }

private:
    int before_;
};

void check_factory(const char* name, std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
    TORCH_CHECK(!pin_memory.value_or(false), name, ": pin_memory=True with device npu; only CPU tensors can be pinned");
    TORCH_CHECK(layout.value_or(at::Layout::Strided) == at::Layout::Strided, name, ": layout ", *layout,
                " with device npu; expected torch.strided");
}

at::Tensor filled_if_deterministic(at::Tensor tensor) {
    if (at::globalContext().deterministicAlgorithms() && at::globalContext().deterministicFillUninitializedMemory())
        at::native::fill_empty_deterministic_(tensor);
    return tensor;
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pin_memory, std::optional<at::MemoryFormat> format) {
    check_factory("empty", layout, pin_memory);
    const OnDevice here(device);
    return filled_if_deterministic(at::detail::empty_generic(size, device_allocator(), kNpuKeys, c10::dtype_or_default(dtype), format));
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device, std::optional<bool> pin_memory) {
    check_factory("empty_strided", layout, pin_memory);
    const OnDevice here(device);
    return filled_if_deterministic(
        at::detail::empty_strided_generic(size, stride, device_allocator(), kNpuKeys, c10::dtype_or_default(dtype)));
}

// Shape and storage.

void ensure_storage_holds(c10::TensorImpl* tensor, size_t nbytes) {
    if (tensor->numel() == 0) return;
    c10::StorageImpl* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
    if (nbytes > storage->nbytes()) resize_storage(*storage, nbytes);
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
    c10::TensorImpl* impl = self.unsafeGetTensorImpl();
    if (self.sizes() != size) {
        impl->set_sizes_contiguous(size);
        ensure_storage_holds(impl, at::detail::computeStorageNbytesContiguous(size, self.itemsize(), self.storage_offset()));
    }
    if (format) {
        TORCH_CHECK(*format != at::MemoryFormat::Preserve, "resize_: memory_format torch.preserve_format is not supported");
        impl->empty_tensor_restride(*format);
    }
    return self;
}

at::Tensor& set_to_storage(at::Tensor& self, at::Storage storage, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
    at::native::checkSetStorage(self, std::move(storage), offset, size, stride);
    c10::TensorImpl* impl = self.unsafeGetTensorImpl();
    if (stride.data()) {
        impl->set_sizes_and_strides(size, stride, offset);
        ensure_storage_holds(impl, at::detail::computeStorageNbytes(size, stride, self.itemsize(), offset));
    } else {
        impl->set_storage_offset(offset);
        impl->set_sizes_contiguous(size);
        ensure_storage_holds(impl, at::detail::computeStorageNbytesContiguous(size, self.itemsize(), offset));
    }
    return self;
}

at::Tensor& set_to_whole_storage(at::Tensor& self, at::Storage storage) {
    const auto elements = static_cast<int64_t>(storage.nbytes() / self.itemsize());
    return set_to_storage(self, std::move(storage), 0, {elements}, {});
}

at::Tensor& set_to_tensor(at::Tensor& self, const at::Tensor& source) {
    if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
    return set_to_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_to_nothing(at::Tensor& self) {
    c10::Storage nothing(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                               allocate_on(index_of(self.device()), 0), device_allocator(),
                                                               /*resizable=*/true));
    return set_to_storage(self, std::move(nothing), 0, {0}, {});
}

// Streams run synchronously: nothing can still be using a freed block.
void record_stream(at::Tensor&, at::Stream) {}

// Large tensors without gaps are zeroed without being written; others by the CPU's kernel.
at::Tensor& zero_(at::Tensor& self) {
    const int device = self.device().index();
    if (Recording* recording = recording_here(device)) {
        Captured<&zero_>::call(*recording, "aten::zero_", self);
        return self;
    }
    Hbm& memory = hbm(device);
    {
        CpuViews views(device);
        at::Tensor on_cpu = views.view(self);
        if (self.is_non_overlapping_and_dense() && !self.is_neg() && !self.is_conj() && memory.contains(self.data_ptr()))
            memory.zero(self.data_ptr(), static_cast<uint64_t>(self.numel()) * self.itemsize());
        else
            at::_ops::zero_::redispatch(kCpuKeys, on_cpu);
    }
    charge("aten::zero_", device, Work{.bytes = bytes_of(self)});
    return self;
}

// Copies. Both ends are host memory, so every direction is the CPU's own copy_, with its conversions; it stays a copy, also
// between npu and CPU, since sharing would hide aliasing bugs of the caller.

void host_waits_for_current_stream(int device) { timeline().host_waits_for(device, current_stream(device).id()); }

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
    const at::Tensor& npu = is_npu(target) ? target : source;
    const int device = npu.device().index();
    if (Recording* recording = recording_here(device)) {
        const at::Tensor& host = is_npu(target) ? source : target;
        if (!is_npu(host) && !(non_blocking && is_pinned(host.data_ptr())))
            Recording::refuse("a copy between npu and host memory that is not pinned, or without non_blocking=True,");
        recording->writes(target);
        Captured<&copy_from>::call(*recording, "aten::_copy_from", source, target, non_blocking);
        return target;
    }
    if (!is_npu(target) && !non_blocking) note_synchronization("a copy to the host");
    {
        CpuViews views(device);
        at::Tensor to = is_npu(target) ? views.view(target) : target;
        const at::Tensor from = is_npu(source) ? views.view(source) : source;
        if (to.is_cpu() && from.is_cpu()) {
            at::_ops::copy_::redispatch(kCpuKeys, to, from, non_blocking);
        } else {
            const c10::InferenceMode no_autograd;
            at::_ops::copy_::call(to, from, non_blocking);
        }
    }
    const Work work{.bytes = bytes_of(source) + bytes_of(target)};
    if (const int from = source.device().index(); is_npu(target) && is_npu(source) && from != device) {
        // Both devices are busy with it, and it begins when both are ready.
        timeline().wait(device, current_stream(device).id(), timeline().now_us(from, current_stream(from).id()));
        timeline().wait(from, current_stream(from).id(), timeline().now_us(device, current_stream(device).id()));
        charge("aten::_copy_from", from, work);
    }
    charge("aten::_copy_from", device, work);
    if (!is_npu(target) && !non_blocking) host_waits_for_current_stream(device);
    return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
    resize_(target, source.sizes(), std::nullopt);
    return copy_from(source, target, false);
}

at::Scalar item(const at::Tensor& self) {
    if (recording_here(self.device().index())) Recording::refuse("item() or another read of a value");
    note_synchronization("item() or another read of a value");
    CpuViews views(self.device().index());
    host_waits_for_current_stream(views.device());
    return at::_ops::_local_scalar_dense::redispatch(kCpuKeys, views.view(self));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("empty.memory_format", &empty);
    library.impl("empty_strided", &empty_strided);
    library.impl("as_strided", &at::native::as_strided_tensorimpl);
    library.impl("view", &at::native::view);
    library.impl("_reshape_alias", &at::native::_reshape_alias);
    library.impl("resize_", &resize_);
    library.impl("set_", &set_to_nothing);
    library.impl("set_.source_Storage", &set_to_whole_storage);
    library.impl("set_.source_Storage_storage_offset", &set_to_storage);
    library.impl("set_.source_Tensor", &set_to_tensor);
    library.impl("zero_", &zero_);
    library.impl("record_stream", &record_stream);
    library.impl("_copy_from", &copy_from);
    library.impl("_copy_from_and_resize", &copy_from_and_resize);
    library.impl("_local_scalar_dense", &item);
}

// Resolving a lazy conjugation means cloning, and a clone is a copy: without these two it would never end. copy_from keeps the
// bits on the CPU views, whose copy_ knows what to do with them.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) { library.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, library) { library.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

}  // namespace
}  // namespace ascend::npu
