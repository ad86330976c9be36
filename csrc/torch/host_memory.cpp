// SPDX-License-Identifier: MIT
// Pinned host memory. The emulated device reads any host memory, so being pinned is only a property that can be asked for.
#include "torch/host_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <map>
#include <mutex>

namespace ascend::npu {
namespace {

struct PinnedBlocks {
    std::mutex mutex;
    std::map<uint64_t, size_t> size_at;     // address -> bytes
    at::HostStats stats;
};

PinnedBlocks& blocks() {
    static PinnedBlocks* const process_blocks = new PinnedBlocks;   // tensors may be freed by static destructors
    return *process_blocks;
}

void free_pinned(void* p) {
    if (!p) return;
    {
        std::lock_guard lock(blocks().mutex);
        const auto found = blocks().size_at.find(reinterpret_cast<uint64_t>(p));
        if (found != blocks().size_at.end()) {
            blocks().stats.allocated_bytes.decrease(found->second);
            blocks().stats.active_bytes.decrease(found->second);
            blocks().stats.allocations.decrease(1);
            blocks().stats.active_requests.decrease(1);
            blocks().size_at.erase(found);
        }
    }
    c10::free_cpu(p);
}

class PinnedAllocator final : public at::HostAllocator {
public:
    c10::DataPtr allocate(size_t bytes) override {
        void* p = bytes ? c10::alloc_cpu(bytes) : nullptr;
        if (p) {
            std::lock_guard lock(blocks().mutex);
            blocks().size_at[reinterpret_cast<uint64_t>(p)] = bytes;
            blocks().stats.allocated_bytes.increase(bytes);
            blocks().stats.active_bytes.increase(bytes);
            blocks().stats.allocations.increase(1);
            blocks().stats.active_requests.increase(1);
        }
        return {p, p, &free_pinned, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
    void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

    // Copies are synchronous, so no block is ever waited for; nothing is cached.
    bool record_event(void*, void*, c10::Stream) override { return true; }
    void empty_cache() override {}
    at::HostStats get_stats() override {
        std::lock_guard lock(blocks().mutex);
        return blocks().stats;
    }
    void reset_accumulated_stats() override {
        std::lock_guard lock(blocks().mutex);
        blocks().stats.allocated_bytes.reset_accumulated();
        blocks().stats.active_bytes.reset_accumulated();
        blocks().stats.allocations.reset_accumulated();
        blocks().stats.active_requests.reset_accumulated();
    }
    void reset_peak_stats() override {
        std::lock_guard lock(blocks().mutex);
        blocks().stats.allocated_bytes.reset_peak();
        blocks().stats.active_bytes.reset_peak();
        blocks().stats.allocations.reset_peak();
        blocks().stats.active_requests.reset_peak();
    }
    void begin_allocate_to_pool(c10::MempoolId_t, std::function<bool(c10::Stream)>) override {}
    void end_allocate_to_pool(c10::MempoolId_t) override {}
    void release_pool(c10::MempoolId_t) override {}
};

PinnedAllocator pinned_allocator_instance;
REGISTER_HOST_ALLOCATOR(at::kPrivateUse1, &pinned_allocator_instance);

}  // namespace

at::HostAllocator* pinned_allocator() { return &pinned_allocator_instance; }

bool is_pinned(const void* p) {
    const auto address = reinterpret_cast<uint64_t>(p);
    std::lock_guard lock(blocks().mutex);
    auto block = blocks().size_at.upper_bound(address);
    if (block == blocks().size_at.begin()) return false;
    --block;
    return address < block->first + block->second;
}

}  // namespace ascend::npu
