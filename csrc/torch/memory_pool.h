// SPDX-License-Identifier: MIT
// Memory that is kept apart from the device's own cache: pools, and allocators that a program brings as two C functions.
#pragma once

#include <c10/core/StorageImpl.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ascend::npu {

// Two functions of a library of the user's. `device` is current while they run; `stream` is the handle of its current stream.
struct PluggableAllocator {
    using Allocate = void* (*)(ssize_t bytes, int device, void* stream);
    using Free = void (*)(void* p, ssize_t bytes, int device, void* stream);
    Allocate allocate;
    Free free;
};

// What is allocated while a pool is used stays in it: a freed block serves the pool's next request of its size, and goes back when the
// pool is dropped and its last block freed, or by release(). Each tensor is a block of its own, rounded up to 512 bytes.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
public:
    explicit MemoryPool(std::shared_ptr<PluggableAllocator> source);    // null: the emulated HBM
    ~MemoryPool();

    struct Block {
        int device;
        uint64_t size;      // bytes, a multiple of 512
        bool is_live;
    };
    void* allocate(int device, uint64_t bytes);
    void release();         // what is free in it, to where it came from
    std::pair<int64_t, int64_t> id() const { return id_; }
    std::vector<std::pair<void*, Block>> blocks() const;

private:
    friend bool free_pooled(void* p);
    void give_back(void* p, const Block& block);

    const std::shared_ptr<PluggableAllocator> source_;
    const std::pair<int64_t, int64_t> id_;
    mutable std::mutex mutex_;
    std::map<void*, Block> blocks_;
    std::multimap<std::pair<int, uint64_t>, void*> unused_;     // (device, size)
};

// In this thread, allocations on `device` come from `pool` until end_pool. They nest.
void begin_pool(int device, std::shared_ptr<MemoryPool> pool);
void end_pool(int device);

// All allocations of the process that no pool takes, from now on. Refused once a device has memory in use.
void change_current_allocator(std::shared_ptr<PluggableAllocator> allocator);
bool has_own_allocator();

// For the allocator. `allocate_pooled` sets *p and returns true if a pool or an allocator of the user's is in charge.
bool allocate_pooled(int device, size_t bytes, void** p);
bool free_pooled(void* p);          // true: it was one of theirs
bool is_pooled(const void* p);
void release_pools();               // what is free in every pool

}  // namespace ascend::npu
