// SPDX-License-Identifier: MIT
// PyTorch's allocators over emulated HBM: the device allocator, and the CPU allocator of fallback kernels.
#include "torch/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <cstring>

#include "chip/hbm.h"
#include "torch/devices.h"
#include "torch/graph.h"
#include "torch/memory_pool.h"

namespace ascend::npu {
namespace {

c10::Device device_of(int index) { return c10::Device(kNpu, static_cast<c10::DeviceIndex>(index)); }

void free_hbm(void* p) {
    if (GraphPool::keeps(p) || free_pooled(p)) return;
    Hbm* owner = hbm_containing(p);
    if (!owner) return;
    owner->free(p);
    if (c10::memoryProfilingEnabled()) {
        const auto now = owner->statistics();
        c10::reportMemoryUsageToProfiler(p, -1, now.allocated.current, now.reserved.current, device_of(owner->device()));
    }
}

void* allocate_hbm(int device, size_t bytes) {
    check_not_forked();
    void* p = nullptr;
    try {
        if (!allocate_pooled(device, bytes, &p)) p = hbm(device).allocate(bytes);
    } catch (const HbmOutOfMemory& error) {
        if (Hbm* used = hbm_if_used(device)) {
            const auto now = used->statistics();
            c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(bytes), now.allocated.current, now.reserved.current,
                                             device_of(device));
        }
        TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
    }
    if (may_be_capturing() && is_capturing(device, current_stream(device).id())) active_recording.load()->pool()->add(p);
    if (c10::memoryProfilingEnabled()) {
        const auto now = hbm(device).statistics();
        c10::reportMemoryUsageToProfiler(p, static_cast<int64_t>(bytes), now.allocated.current, now.reserved.current,
                                         device_of(device));
    }
    return p;
}

class DeviceAllocator final : public c10::DeviceAllocator {
public:
    c10::DataPtr allocate(size_t bytes) override {
        ensure_configured();
        return allocate_on(current_device(), bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_hbm; }
    void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

    // Nothing is prepared in advance, so the allocator can always answer.
    bool initialized() override { return true; }

    void emptyCache(c10::MempoolId_t) override {
        release_pools();
        for (int device = 0; device < device_count(); ++device)
            if (Hbm* used = hbm_if_used(device)) used->release_cache();
    }

    // Execution is synchronous: when a block is freed, no stream is still using it.
    void recordStream(const c10::DataPtr&, c10::Stream) override {}

    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
        c10::CachingDeviceAllocator::DeviceStats stats;
        const Hbm* used = hbm_if_used(index_of(device));
        if (!used) return stats;
        const auto now = used->statistics();
        const auto fill = [](c10::CachingAllocator::StatArray& target, const Hbm::Counter& counter) {
            // One pool serves all sizes, so only the aggregate is kept.
            auto& all = target[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
            all.current = static_cast<int64_t>(counter.current);
            all.peak = static_cast<int64_t>(counter.peak);
            all.allocated = static_cast<int64_t>(counter.total_up);
            all.freed = static_cast<int64_t>(counter.total_down);
        };
        fill(stats.allocation, now.allocations);
        fill(stats.active, now.allocations);
        fill(stats.allocated_bytes, now.allocated);
        fill(stats.active_bytes, now.allocated);
        fill(stats.requested_bytes, now.requested);
        fill(stats.reserved_bytes, now.reserved);
        stats.num_ooms = static_cast<int64_t>(now.out_of_memory_count);
        stats.num_alloc_retries = static_cast<int64_t>(now.cache_release_count);
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override {
        if (Hbm* used = hbm_if_used(index_of(device))) used->reset_totals();
    }
    void resetPeakStats(c10::DeviceIndex device) override {
        if (Hbm* used = hbm_if_used(index_of(device))) used->reset_peaks();
    }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
        const Hbm& memory = hbm(index_of(device));
        return {memory.capacity_bytes() - memory.statistics().reserved.current, memory.capacity_bytes()};
    }
};

DeviceAllocator device_allocator_instance;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &device_allocator_instance);

thread_local int cpu_allocations_device = -1;   // -1: ordinary host memory

// Kept from the moment of installation; never changes afterwards.
c10::Allocator* ordinary_cpu_allocator = nullptr;

void free_cpu_or_hbm(void* p) {
    if (hbm_containing(p) || is_pooled(p)) free_hbm(p);
    else ordinary_cpu_allocator->raw_deleter()(p);
}

class CpuAllocator final : public c10::Allocator {
public:
    c10::DataPtr allocate(size_t bytes) override {
        if (cpu_allocations_device < 0) return ordinary_cpu_allocator->allocate(bytes);
        void* p = allocate_hbm(cpu_allocations_device, bytes);
        return {p, p, &free_hbm, c10::Device(c10::DeviceType::CPU)};
    }
    bool is_simple_data_ptr(const c10::DataPtr& p) const override {
        return p.get_deleter() == &free_hbm || ordinary_cpu_allocator->is_simple_data_ptr(p);
    }
    c10::DeleterFnPtr raw_deleter() const override {
        return ordinary_cpu_allocator->raw_deleter() ? &free_cpu_or_hbm : nullptr;
    }
    void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

c10::Allocator* device_allocator() { return &device_allocator_instance; }

c10::DataPtr allocate_on(int device, size_t bytes) {
    void* p = allocate_hbm(device, bytes);
    return {p, p, &free_hbm, device_of(device)};
}

void resize_storage(c10::StorageImpl& storage, size_t bytes) {
    TORCH_CHECK(storage.resizable(), "npu: trying to resize a storage that is not resizable");
    if (bytes == storage.nbytes()) return;
    c10::DataPtr grown = allocate_on(index_of(storage.device()), bytes);
    if (const size_t kept = std::min(bytes, storage.nbytes()); kept > 0) std::memcpy(grown.get(), storage.data(), kept);
    storage.set_data_ptr_noswap(std::move(grown));
    storage.set_nbytes(bytes);
}

CpuAllocationsFromHbm::CpuAllocationsFromHbm(int device) : before_(cpu_allocations_device) { cpu_allocations_device = device; }
CpuAllocationsFromHbm::~CpuAllocationsFromHbm() { cpu_allocations_device = before_; }

void install_cpu_allocator() {
    static CpuAllocator allocator;
    ordinary_cpu_allocator = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&allocator, /*priority=*/255);
}

}  // namespace ascend::npu
