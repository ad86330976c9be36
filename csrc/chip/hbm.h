// SPDX-License-Identifier: MIT
// Which bytes of host memory are a device's HBM, and which of them belong to a live allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace ascend {

// Thrown by Hbm::allocate; the message names the limit that was hit and the figures around it.
class HbmOutOfMemory : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The HBM of one device: an address range as large as the emulated memory, reserved but not committed, so that 144 GiB cost
// nothing on a laptop until they are written. Freed blocks stay committed for reuse up to kCacheBytes; beyond that, and in
// release_cache(), their pages go back to the host. Fresh memory holds whatever the host gives. Thread-safe.
class Hbm {
public:
    struct Range {
        uint64_t begin, end;    // addresses; end is exclusive and exact: the padding up to kAlignment is not part of it
    };
    struct Counter {
        uint64_t current = 0, peak = 0, total_up = 0, total_down = 0;
        void up(uint64_t amount);
        void down(uint64_t amount);
    };
    struct Statistics {
        Counter allocations;    // number of live blocks
        Counter allocated;      // bytes of live blocks, rounded up to kAlignment
        Counter requested;      // bytes as they were asked for
        Counter reserved;       // bytes committed: live blocks and cached ones
        uint64_t out_of_memory_count = 0, cache_release_count = 0;
    };
    static constexpr uint64_t kAlignment = 512;                     // bytes; as the real allocator rounds
    static constexpr uint64_t kCacheBytes = uint64_t{2} << 30;      // of freed memory kept committed

    Hbm(int device, uint64_t capacity_bytes);
    ~Hbm();
    Hbm(const Hbm&) = delete;
    Hbm& operator=(const Hbm&) = delete;

    // 0 bytes give nullptr.
    void* allocate(size_t bytes);
    // `p` came from allocate of this object; nullptr is ignored.
    void free(void* p);

    // The live allocation that holds p. Asking again for the same one costs a comparison (each thread remembers its last).
    bool find(const void* p, Range* out) const;
    // Whether p lies in the address range, live or not.
    bool contains(const void* p) const {
        const auto address = reinterpret_cast<uint64_t>(p);
        return address >= base_ && address < base_ + capacity_bytes_;
    }

    // The same, with the empty addresses on its sides.
    bool is_near(const void* p) const { return reinterpret_cast<uint64_t>(p) - (base_ - guard_bytes_) < capacity_bytes_ + 2 * guard_bytes_; }

    // Zeros in a range of this memory. Whole pages of a large one go back to the host and come as zeros when they are next touched, so
    // that clearing gigabytes (benchmarks do, to flush the L2) neither takes host memory nor the time to write it.
    void zero(void* p, uint64_t bytes);

    void release_cache();
    // Bytes that may be reserved; at most the capacity. What is already allocated stays.
    void set_limit(uint64_t bytes);

    int device() const { return device_; }
    uint64_t capacity_bytes() const { return capacity_bytes_; }
    uint64_t begin() const { return base_; }                        // of the address range
    uint64_t guard_bytes() const { return guard_bytes_; }           // of empty addresses on each side of it
    uint64_t limit_bytes() const { return limit_bytes_; }
    Statistics statistics() const;
    void reset_peaks();
    void reset_totals();

    struct Block {
        uint64_t size = 0;          // bytes, a multiple of kAlignment
        uint64_t requested = 0;     // bytes; meaningful while live
        bool is_live = false;
        bool is_committed = false;  // may occupy host memory
        bool is_in_bin = false;     // free, and parked for its exact size
    };
    std::vector<std::pair<Range, Block>> blocks() const;     // committed ones, in address order

private:
    using Blocks = std::map<uint64_t, Block>;
    using BySize = std::set<std::pair<uint64_t, uint64_t>>;     // size, address

    void* take(BySize& from, uint64_t size, size_t requested);
    void* make_live(Blocks::iterator block, size_t requested);
    void make_free(Blocks::iterator block);
    void empty_bins();
    void release_cache_locked();
    void check_host_memory(uint64_t size, size_t requested);
    bool make_accessible(uint64_t end);
    [[noreturn]] void out_of_memory(size_t requested, const std::string& limit);

    const int device_;
    const uint64_t capacity_bytes_;
    uint64_t limit_bytes_;
    uint64_t mapping_ = 0, mapping_bytes_ = 0;  // what mmap gave; base_ is its first 2 MiB boundary
    uint64_t base_ = 0;
    uint64_t guard_bytes_ = 0;
    uint64_t accessible_end_ = 0;               // below: readable and writable; above: reserved only
    uint64_t unchecked_bytes_ = 0;              // committed since the host was last asked how much memory it has

    mutable std::mutex mutex_;
    Blocks blocks_;                             // partition [base, base + capacity)
    BySize cached_, fresh_;                     // free blocks: committed, and not
    std::vector<std::vector<uint64_t>> bins_;   // small freed blocks by size / kAlignment, neither split nor merged
    uint64_t cached_bytes_ = 0;                 // committed and free, bins included
    Statistics statistics_;
    std::atomic<uint64_t> generation_;          // changes whenever a remembered range may have become wrong
};

// The devices of this process. An Hbm is made when its device is first used and lives as long as the process, since tensors
// may be freed by static destructors.
void set_hbm_capacity(uint64_t bytes);          // of devices not yet used
Hbm& hbm(int device);
Hbm* hbm_if_used(int device);
Hbm* hbm_containing(const void* p);             // nullptr: host memory

}  // namespace ascend
