// SPDX-License-Identifier: MIT
// How emulated HBM is carved out of a reserved address range, and when it is refused.
#include "chip/hbm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "chip/sanitizer.h"

namespace ascend {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kBinLimit = uint64_t{64} << 10;          // blocks up to this size are parked in bins
constexpr uint64_t kAccessibleStep = uint64_t{64} << 20;    // mprotect in such steps: two mappings an arena, few system calls
constexpr uint64_t kHostCheckStep = uint64_t{64} << 20;     // ask the host again after committing this much
constexpr uint64_t kZeroByPages = uint64_t{128} << 20;       // below, page faults would cost more than writing zeros
constexpr int kMaxDevices = 1024;

std::atomic<uint64_t> last_generation{0};       // process-wide, so that a thread's remembered range belongs to one Hbm only
std::atomic<uint64_t> process_reserved_bytes{0};

uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

uint64_t read_number(const char* path) {
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? value : UINT64_MAX;      // absent, or "max"
}

// File pages count as used by a control group, though they are given up on demand.
uint64_t reclaimable_group_bytes() {
    std::ifstream file("/sys/fs/cgroup/memory.stat");
    std::string key;
    uint64_t value = 0, sum = 0;
    while (file >> key >> value)
        if (key == "inactive_file" || key == "active_file") sum += value;
    return sum;
}

// What the host could still hand out: free memory plus what it can reclaim, within the container's limit if there is one.
uint64_t host_available_bytes() {
    uint64_t available = UINT64_MAX;
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        unsigned long long kib;
        if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1) available = kib * 1024;
    }
    const uint64_t group_limit = read_number("/sys/fs/cgroup/memory.max");
    const uint64_t group_used = read_number("/sys/fs/cgroup/memory.current");
    if (group_limit != UINT64_MAX && group_used != UINT64_MAX) {
        const uint64_t kept = group_used - std::min(group_used, reclaimable_group_bytes());
        available = std::min(available, group_limit - std::min(group_limit, kept));
    }
    return available;
}

uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    uint64_t size_pages = 0, resident_pages = 0;
    file >> size_pages >> resident_pages;
    return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string readable(uint64_t bytes) {
    char text[32];
    if (bytes >= uint64_t{1} << 30) std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
    else if (bytes >= 1 << 20) std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / (1 << 20));
    else std::snprintf(text, sizeof text, "%llu bytes", static_cast<unsigned long long>(bytes));
    return text;
}

}  // namespace

void Hbm::Counter::up(uint64_t amount) {
    current += amount;
    total_up += amount;
    peak = std::max(peak, current);
}

void Hbm::Counter::down(uint64_t amount) {
    current -= amount;
    total_down += amount;
}

Hbm::Hbm(int device, uint64_t capacity_bytes)
    : device_(device), capacity_bytes_(capacity_bytes / kAlignment * kAlignment), limit_bytes_(capacity_bytes_),
      bins_(kBinLimit / kAlignment + 1), generation_(++last_generation) {
    // Address space on both sides that stays empty, where the host allows it: a wild 32-bit index of 4-byte elements ends in it.
    void* got = MAP_FAILED;
    uint64_t guard_bytes = uint64_t{8} << 30;
    for (;; guard_bytes = 0) {
        mapping_bytes_ = capacity_bytes_ + kHugePage + 2 * guard_bytes;
        got = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got != MAP_FAILED || guard_bytes == 0) break;
    }
    if (got == MAP_FAILED)
        throw HbmOutOfMemory("NPU " + std::to_string(device) + ": this process may not reserve " + readable(mapping_bytes_) +
                             " of address space for emulated HBM (" + std::strerror(errno) +
                             "). ASCEND_SIM_HBM_GB makes it smaller.");
    mapping_ = reinterpret_cast<uint64_t>(got);
    base_ = round_up(mapping_ + guard_bytes, kHugePage);
    guard_bytes_ = guard_bytes;
    accessible_end_ = base_;
    void* arena = reinterpret_cast<void*>(base_);
    madvise(arena, capacity_bytes_, MADV_HUGEPAGE);     // advice only: fewer page faults on first touch
    madvise(arena, capacity_bytes_, MADV_DONTDUMP);     // a core dump of 144 GiB helps nobody
    blocks_[base_] = Block{.size = capacity_bytes_};
    fresh_.insert({capacity_bytes_, base_});
}

Hbm::~Hbm() {
    process_reserved_bytes -= statistics_.reserved.current;
    sanitizer::unpoison(reinterpret_cast<void*>(base_), accessible_end_ - base_);
    munmap(reinterpret_cast<void*>(mapping_), mapping_bytes_);
}

void* Hbm::allocate(size_t bytes) {
    if (bytes == 0) return nullptr;
    const uint64_t size = round_up(bytes, kAlignment);
    std::lock_guard lock(mutex_);
    if (bytes > capacity_bytes_) out_of_memory(bytes, "emulated HBM capacity (ASCEND_SIM_HBM_GB)");
    if (size <= kBinLimit && !bins_[size / kAlignment].empty()) {
        auto& bin = bins_[size / kAlignment];
        const auto block = blocks_.find(bin.back());
        bin.pop_back();
        block->second.is_in_bin = false;
        cached_bytes_ -= size;
        return make_live(block, bytes);
    }
    if (void* p = take(cached_, size, bytes)) return p;
    // From here on memory is committed anew; the cache gives way before anything is refused.
    if (statistics_.reserved.current + size > limit_bytes_ && cached_bytes_ > 0) release_cache_locked();
    if (statistics_.reserved.current + size > limit_bytes_)
        out_of_memory(bytes, limit_bytes_ < capacity_bytes_ ? "emulated HBM this process may use"
                                                            : "emulated HBM capacity (ASCEND_SIM_HBM_GB)");
    check_host_memory(size, bytes);
    if (void* p = take(fresh_, size, bytes)) return p;
    release_cache_locked();
    if (void* p = take(fresh_, size, bytes)) return p;
    out_of_memory(bytes, "largest free stretch of emulated HBM, which live allocations have fragmented");
}

void Hbm::free(void* p) {
    if (!p) return;
    std::lock_guard lock(mutex_);
    const auto block = blocks_.find(reinterpret_cast<uint64_t>(p));
    if (block == blocks_.end() || !block->second.is_live) return;   // a deleter may not throw
    const uint64_t size = block->second.size;
    block->second.is_live = false;
    sanitizer::poison(p, size);
    statistics_.allocations.down(1);
    statistics_.allocated.down(size);
    statistics_.requested.down(block->second.requested);
    cached_bytes_ += size;
    generation_ = ++last_generation;
    if (size <= kBinLimit) {
        block->second.is_in_bin = true;
        bins_[size / kAlignment].push_back(block->first);
    } else {
        make_free(block);
    }
    if (cached_bytes_ > kCacheBytes) release_cache_locked();
}

bool Hbm::find(const void* p, Range* out) const {
    struct Remembered {
        uint64_t generation = 0;
        Range range{0, 0};
    };
    thread_local Remembered last;
    const auto address = reinterpret_cast<uint64_t>(p);
    if (last.generation == generation_.load(std::memory_order_acquire) && address >= last.range.begin &&
        address < last.range.end) {
        *out = last.range;
        return true;
    }
    if (!contains(p)) return false;
    std::lock_guard lock(mutex_);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    if (!block->second.is_live || address >= block->first + block->second.requested) return false;
    *out = {block->first, block->first + block->second.requested};
    last = {generation_.load(std::memory_order_relaxed), *out};
    return true;
}

void Hbm::zero(void* p, uint64_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(p), end = begin + bytes;
    const uint64_t first = round_up(begin, kHugePage), last = end / kHugePage * kHugePage;
    if (bytes < kZeroByPages || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
        std::memset(p, 0, bytes);
        return;
    }
    std::memset(p, 0, first - begin);
    std::memset(reinterpret_cast<void*>(last), 0, end - last);
}

void Hbm::release_cache() {
    std::lock_guard lock(mutex_);
    release_cache_locked();
}

void Hbm::set_limit(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    limit_bytes_ = std::min(bytes, capacity_bytes_);
}

Hbm::Statistics Hbm::statistics() const {
    std::lock_guard lock(mutex_);
    return statistics_;
}

void Hbm::reset_peaks() {
    std::lock_guard lock(mutex_);
    for (Counter* c : {&statistics_.allocations, &statistics_.allocated, &statistics_.requested, &statistics_.reserved})
        c->peak = c->current;
}

void Hbm::reset_totals() {
    std::lock_guard lock(mutex_);
    for (Counter* c : {&statistics_.allocations, &statistics_.allocated, &statistics_.requested, &statistics_.reserved})
        c->total_up = c->total_down = 0;
    statistics_.out_of_memory_count = statistics_.cache_release_count = 0;
}

std::vector<std::pair<Hbm::Range, Hbm::Block>> Hbm::blocks() const {
    std::lock_guard lock(mutex_);
    std::vector<std::pair<Range, Block>> list;
    for (const auto& [begin, block] : blocks_)
        if (block.is_committed) list.push_back({{begin, begin + block.size}, block});
    return list;
}

// Best fit; what is left over stays where it was.
void* Hbm::take(BySize& from, uint64_t size, size_t requested) {
    const auto found = from.lower_bound({size, 0});
    if (found == from.end()) return nullptr;
    const auto block = blocks_.find(found->second);
    const bool is_cached = block->second.is_committed;
    if (!is_cached && !make_accessible(block->first + size))
        out_of_memory(requested, "memory of this machine (the kernel refused to map it)");
    from.erase(found);
    if (block->second.size > size) {
        const uint64_t rest = block->first + size;
        blocks_.emplace_hint(std::next(block), rest, Block{.size = block->second.size - size, .is_committed = is_cached});
        from.insert({block->second.size - size, rest});
        block->second.size = size;
    }
    if (is_cached) {
        cached_bytes_ -= size;
    } else {
        block->second.is_committed = true;
        statistics_.reserved.up(size);
        process_reserved_bytes += size;
        unchecked_bytes_ += size;
    }
    return make_live(block, requested);
}

void* Hbm::make_live(Blocks::iterator block, size_t requested) {
    block->second.is_live = true;
    block->second.requested = requested;
    statistics_.allocations.up(1);
    statistics_.allocated.up(block->second.size);
    statistics_.requested.up(requested);
    sanitizer::unpoison(reinterpret_cast<void*>(block->first), requested);
    return reinterpret_cast<void*>(block->first);
}

// Merges with free neighbours of the same kind and lists the result.
void Hbm::make_free(Blocks::iterator block) {
    BySize& list = block->second.is_committed ? cached_ : fresh_;
    const auto joins = [&](const Block& other) {
        return !other.is_live && !other.is_in_bin && other.is_committed == block->second.is_committed;
    };
    if (const auto next = std::next(block); next != blocks_.end() && joins(next->second)) {
        list.erase({next->second.size, next->first});
        block->second.size += next->second.size;
        blocks_.erase(next);
    }
    if (block != blocks_.begin() && joins(std::prev(block)->second)) {
        const auto previous = std::prev(block);
        list.erase({previous->second.size, previous->first});
        previous->second.size += block->second.size;
        blocks_.erase(block);
        block = previous;
    }
    list.insert({block->second.size, block->first});
}

void Hbm::empty_bins() {
    for (auto& bin : bins_) {
        for (const uint64_t begin : bin) {
            const auto block = blocks_.find(begin);
            block->second.is_in_bin = false;
            make_free(block);
        }
        bin.clear();
    }
}

void Hbm::release_cache_locked() {
    empty_bins();
    const BySize released = std::exchange(cached_, {});
    for (const auto& [size, begin] : released) {
        // Page edges shared with a live neighbour stay with it; they are a few kilobytes.
        const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
        const uint64_t first = round_up(begin, page), end = (begin + size) / page * page;
        if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
        const auto block = blocks_.find(begin);
        block->second.is_committed = false;
        statistics_.reserved.down(size);
        process_reserved_bytes -= size;
        make_free(block);
    }
    cached_bytes_ = 0;
    statistics_.cache_release_count += !released.empty();
}

// Overcommit would let the process be killed at first touch; an error at the allocation is what a device gives.
void Hbm::check_host_memory(uint64_t size, size_t requested) {
    if (size < kHostCheckStep / 4 && unchecked_bytes_ + size < kHostCheckStep) return;
    unchecked_bytes_ = 0;
    const auto shortage = [&](uint64_t* available) {
        // Reserved but untouched bytes still have to come from what is available. At most the resident set is touched.
        const uint64_t reserved = process_reserved_bytes;
        const uint64_t untouched = reserved - std::min(reserved, resident_bytes());
        *available = host_available_bytes();
        return *available != UINT64_MAX && untouched + size > *available;
    };
    uint64_t available = 0;
    if (!shortage(&available)) return;
    release_cache_locked();
    if (shortage(&available))
        out_of_memory(requested, "memory of this machine: " + readable(available) + " available for all emulated devices");
}

bool Hbm::make_accessible(uint64_t end) {
    if (end <= accessible_end_) return true;
    const uint64_t target = std::min(base_ + capacity_bytes_, round_up(end - base_, kAccessibleStep) + base_);
    if (mprotect(reinterpret_cast<void*>(accessible_end_), target - accessible_end_, PROT_READ | PROT_WRITE) != 0) return false;
    sanitizer::poison(reinterpret_cast<void*>(accessible_end_), target - accessible_end_);
    accessible_end_ = target;
    return true;
}

void Hbm::out_of_memory(size_t requested, const std::string& limit) {
    ++statistics_.out_of_memory_count;
    const uint64_t live = statistics_.allocated.current, reserved = statistics_.reserved.current;
    throw HbmOutOfMemory("NPU out of memory. Tried to allocate " + readable(requested) + ". NPU " + std::to_string(device_) +
                         " has a total capacity of " + readable(capacity_bytes_) + " of which " +
                         readable(capacity_bytes_ - reserved) + " is free. Of the reserved memory " + readable(live) +
                         " is allocated by PyTorch, and " + readable(reserved - live) +
                         " is reserved by PyTorch but unallocated. The limit that was hit: " + limit + ".");
}

// The devices of this process.

namespace {
std::atomic<uint64_t> capacity_of_new_devices{uint64_t{144} << 30};
std::array<std::atomic<Hbm*>, kMaxDevices> devices{};
std::atomic<int> used_device_end{0};
std::mutex devices_mutex;
}  // namespace

void set_hbm_capacity(uint64_t bytes) { capacity_of_new_devices = bytes; }

Hbm* hbm_if_used(int device) {
    return device >= 0 && device < kMaxDevices ? devices[device].load(std::memory_order_acquire) : nullptr;
}

Hbm& hbm(int device) {
    if (Hbm* used = hbm_if_used(device)) return *used;
    if (device < 0 || device >= kMaxDevices)
        throw std::out_of_range("hbm: device " + std::to_string(device) + "; expected 0 to " + std::to_string(kMaxDevices - 1));
    std::lock_guard lock(devices_mutex);
    if (!devices[device].load()) {
        devices[device].store(new Hbm(device, capacity_of_new_devices), std::memory_order_release);
        used_device_end = std::max(used_device_end.load(), device + 1);
    }
    return *devices[device].load();
}

Hbm* hbm_containing(const void* p) {
    const int end = used_device_end.load(std::memory_order_acquire);
    for (int device = 0; device < end; ++device)
        if (Hbm* used = devices[device].load(std::memory_order_acquire); used && used->contains(p)) return used;
    return nullptr;
}

}  // namespace ascend
