// SPDX-License-Identifier: MIT
// Which pool or allocator of the user's a block belongs to, and what happens when it is freed.
#include "torch/memory_pool.h"

#include <c10/util/Exception.h>

#include "chip/hbm.h"
#include "torch/devices.h"
#include "torch/graph.h"

namespace ascend::npu {
namespace {

struct Owner {
    std::shared_ptr<MemoryPool> pool;                       // or
    std::shared_ptr<PluggableAllocator> allocator;          // of the whole process
    int device;
    uint64_t size;
};

struct Registry {
    std::mutex mutex;
    std::unordered_map<const void*, Owner> live;            // a live block keeps its pool
    std::vector<std::weak_ptr<MemoryPool>> pools;
    std::shared_ptr<PluggableAllocator> process_allocator;
    std::atomic<size_t> count{0};                           // of live blocks; 0, almost always, saves the lock
    std::atomic<bool> has_process_allocator{false};
};

Registry& registry() {
    static Registry* const kept = new Registry;             // tensors may be freed by static destructors
    return *kept;
}

thread_local std::vector<std::pair<int, std::shared_ptr<MemoryPool>>> pools_in_use;

uint64_t rounded(uint64_t bytes) { return (bytes + Hbm::kAlignment - 1) / Hbm::kAlignment * Hbm::kAlignment; }

thread_local bool inside_users_code = false;

// While the user's functions run, their device is current, and what they allocate themselves is the emulated HBM's.
class UsersCode {
public:
    explicit UsersCode(int device) : before_(current_device()) {
        set_current_device(device);
        inside_users_code = true;
    }
    ~UsersCode() {
        inside_users_code = false;
        set_current_device(before_);
    }

private:
    int before_;
};

void* stream_of(int device) { return reinterpret_cast<void*>(current_stream(device).id()); }

void* call(const PluggableAllocator& allocator, int device, uint64_t bytes) {
    const UsersCode here(device);
    void* p = allocator.allocate(static_cast<ssize_t>(bytes), device, stream_of(device));
    TORCH_CHECK_WITH(OutOfMemoryError, p, "npu: the pluggable allocator returned no memory for ", bytes, " bytes on npu:", device);
    return p;
}

void call_free(const PluggableAllocator& allocator, void* p, int device, uint64_t bytes) {
    const UsersCode here(device);
    allocator.free(p, static_cast<ssize_t>(bytes), device, stream_of(device));
}

void remember(const void* p, Owner owner) {
    std::lock_guard lock(registry().mutex);
    registry().live[p] = std::move(owner);
    registry().count = registry().live.size();
}

}  // namespace

MemoryPool::MemoryPool(std::shared_ptr<PluggableAllocator> source) : source_(std::move(source)), id_(new_pool_id()) {}

MemoryPool::~MemoryPool() { release(); }

void* MemoryPool::allocate(int device, uint64_t bytes) {
    const uint64_t size = rounded(bytes);
    void* p = nullptr;
    {
        std::lock_guard lock(mutex_);
        if (const auto found = unused_.find({device, size}); found != unused_.end()) {
            p = found->second;
            unused_.erase(found);
        }
    }
    if (!p) p = source_ ? call(*source_, device, size) : hbm(device).allocate(size);
    {
        std::lock_guard lock(mutex_);
        blocks_[p] = {device, size, true};
    }
    remember(p, {shared_from_this(), nullptr, device, size});
    return p;
}

void MemoryPool::give_back(void* p, const Block& block) {
    if (source_) call_free(*source_, p, block.device, block.size);
    else hbm(block.device).free(p);
}

void MemoryPool::release() {
    std::vector<std::pair<void*, Block>> going;
    {
        std::lock_guard lock(mutex_);
        for (const auto& [key, p] : unused_) {
            going.emplace_back(p, blocks_.at(p));
            blocks_.erase(p);
        }
        unused_.clear();
    }
    for (const auto& [p, block] : going) give_back(p, block);
}

std::vector<std::pair<void*, MemoryPool::Block>> MemoryPool::blocks() const {
    std::lock_guard lock(mutex_);
    return {blocks_.begin(), blocks_.end()};
}

void begin_pool(int device, std::shared_ptr<MemoryPool> pool) {
    {
        std::lock_guard lock(registry().mutex);
        auto& pools = registry().pools;
        std::erase_if(pools, [](const auto& known) { return known.expired(); });
        pools.push_back(pool);
    }
    pools_in_use.emplace_back(device, std::move(pool));
}

void end_pool(int device) {
    for (auto used = pools_in_use.rbegin(); used != pools_in_use.rend(); ++used)
        if (used->first == device) {
            pools_in_use.erase(std::next(used).base());
            return;
        }
}

void change_current_allocator(std::shared_ptr<PluggableAllocator> allocator) {
    for (int device = 0; device < device_count(); ++device)
        TORCH_CHECK(!hbm_if_used(device), "torch.npu.change_current_allocator: npu:", device, " has been used; the allocator can be changed before "
                    "any device has memory.");
    TORCH_CHECK(!registry().has_process_allocator, "torch.npu.change_current_allocator: it has been changed already.");
    registry().process_allocator = std::move(allocator);
    registry().has_process_allocator = true;
}

bool has_own_allocator() { return registry().has_process_allocator; }

bool allocate_pooled(int device, size_t bytes, void** p) {
    if ((pools_in_use.empty() && !registry().has_process_allocator) || bytes == 0 || inside_users_code) return false;
    for (auto used = pools_in_use.rbegin(); used != pools_in_use.rend(); ++used)
        if (used->first == device) {
            *p = used->second->allocate(device, bytes);
            return true;
        }
    if (!registry().has_process_allocator) return false;
    const auto allocator = registry().process_allocator;
    const uint64_t size = rounded(bytes);
    *p = call(*allocator, device, size);
    remember(*p, {nullptr, allocator, device, size});
    return true;
}

bool free_pooled(void* p) {
    if (!p || registry().count.load(std::memory_order_relaxed) == 0) return false;
    Owner owner;
    {
        std::lock_guard lock(registry().mutex);
        const auto found = registry().live.find(p);
        if (found == registry().live.end()) return false;
        owner = std::move(found->second);
        registry().live.erase(found);
        registry().count = registry().live.size();
    }
    if (owner.pool) {
        std::lock_guard lock(owner.pool->mutex_);
        owner.pool->blocks_.at(p).is_live = false;
        owner.pool->unused_.insert({{owner.device, owner.size}, p});
    } else {
        call_free(*owner.allocator, p, owner.device, owner.size);
    }
    return true;            // the pool itself may go here, with its last block
}

bool is_pooled(const void* p) {
    if (registry().count.load(std::memory_order_relaxed) == 0) return false;
    std::lock_guard lock(registry().mutex);
    return registry().live.count(p) > 0;
}

void release_pools() {
    std::vector<std::shared_ptr<MemoryPool>> pools;
    {
        std::lock_guard lock(registry().mutex);
        for (const auto& known : registry().pools)
            if (auto pool = known.lock()) pools.push_back(std::move(pool));
    }
    for (const auto& pool : pools) pool->release();
}

}  // namespace ascend::npu
