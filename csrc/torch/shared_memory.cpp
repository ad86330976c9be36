// SPDX-License-Identifier: MIT
// Memory of several processes inside a device's HBM: an unnamed file mapped over an allocation. It goes with the last process that has it,
// however that ends.
#include "torch/shared_memory.h"

#include <c10/core/TensorImpl.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "torch/allocator.h"
#include "torch/devices.h"

namespace ascend::npu {
namespace {

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
size_t in_pages(size_t bytes) { return (bytes + page() - 1) / page() * page(); }

struct SharedBlock {
    c10::DataPtr allocation;    // larger by a page, so that whole pages lie in it
    void* begin;
    size_t bytes;               // whole pages
    int descriptor;
};

void release(void* context) {
    auto* block = static_cast<SharedBlock*>(context);
    // Back to memory of this process alone, before the device hands it out again.
    mmap(block->begin, block->bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    close(block->descriptor);
    delete block;
}

// Takes over the descriptor.
c10::DataPtr mapped(int descriptor, size_t bytes, int device) {
    auto block = std::make_unique<SharedBlock>();
    block->descriptor = descriptor;
    block->bytes = in_pages(bytes);
    try {
        block->allocation = allocate_on(device, block->bytes + page());
    } catch (...) {
        close(descriptor);
        throw;
    }
    block->begin = reinterpret_cast<void*>(in_pages(reinterpret_cast<size_t>(block->allocation.get())));
    if (mmap(block->begin, block->bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, descriptor, 0) == MAP_FAILED) {
        const int error = errno;
        close(descriptor);
        TORCH_CHECK(false, "npu: cannot map ", bytes, " bytes of shared memory: ", std::strerror(error));
    }
    void* begin = block->begin;
    return {begin, block.release(), &release, c10::Device(kNpu, static_cast<c10::DeviceIndex>(device))};
}

int duplicate(int descriptor) {
    const int copy = dup(descriptor);
    TORCH_CHECK(copy >= 0, "npu: cannot duplicate a descriptor of shared memory: ", std::strerror(errno));
    return copy;
}

}  // namespace

int share_storage(const at::Tensor& npu) {
    check_not_forked();
    c10::StorageImpl* storage = npu.storage().unsafeGetStorageImpl();
    if (storage->data_ptr().get_deleter() == &release)
        return duplicate(static_cast<SharedBlock*>(storage->data_ptr().get_context())->descriptor);
    const size_t bytes = storage->nbytes();
    TORCH_CHECK_VALUE(bytes > 0, "npu: a storage without bytes cannot be shared");
    const int descriptor = memfd_create("ascend_sim tensor", MFD_CLOEXEC);
    TORCH_CHECK(descriptor >= 0, "npu: cannot make shared memory: ", std::strerror(errno));
    if (ftruncate(descriptor, static_cast<off_t>(in_pages(bytes))) != 0) {
        const int error = errno;
        close(descriptor);
        TORCH_CHECK(false, "npu: cannot make ", bytes, " bytes of shared memory: ", std::strerror(error));
    }
    c10::DataPtr shared = mapped(descriptor, bytes, index_of(npu.device()));
    std::memcpy(shared.get(), storage->data(), bytes);
    storage->set_data_ptr_noswap(std::move(shared));
    return duplicate(descriptor);
}

at::Tensor open_shared(int descriptor, int64_t bytes, int device) {
    struct stat status;
    TORCH_CHECK(fstat(descriptor, &status) == 0, "npu: ", descriptor, " is not a descriptor of shared memory: ", std::strerror(errno));
    TORCH_CHECK_VALUE(bytes > 0 && bytes <= status.st_size, "npu: ", bytes, " bytes of shared memory asked for; expected 1 to ", status.st_size);
    c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), static_cast<size_t>(bytes),
                                                               mapped(duplicate(descriptor), static_cast<size_t>(bytes), device),
                                                               device_allocator(), /*resizable=*/false));
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                                 caffe2::TypeMeta::Make<uint8_t>());
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous({bytes});
    return tensor;
}

}  // namespace ascend::npu
