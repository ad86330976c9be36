// SPDX-License-Identifier: MIT
// How are the emulated memories backed? Anonymous mappings, page aligned; UB with inaccessible pages on both sides.
#include "chip/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "chip/sanitizer.h"

namespace ascend {

MemoryBlock::MemoryBlock() {
    mapping_ = mmap(nullptr, 2 * size_t{kBytes}, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    data_ = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(mapping_) + kBytes - 1) / kBytes * kBytes);
    madvise(data_, kBytes, MADV_HUGEPAGE);
}

MemoryBlock::~MemoryBlock() { munmap(mapping_, 2 * size_t{kBytes}); }

uint8_t* MemoryBlock::take(uint32_t bytes) {
    if (bytes > kBytes - used_) throw std::bad_alloc();
    used_ += bytes;
    return data_ + used_ - bytes;
}

namespace {
// Address space only. Wide: a wild 32-bit index of 4-byte elements, from anywhere in UB, ends in it.
constexpr int64_t kWideGuardBytes = int64_t{8} << 30, kGuardBytes = 1 << 20;
}  // namespace

// AddressSanitizer should see what leaves a memory: then each has guards of its own.
Memory::Memory(const char* name, uint32_t bytes, MemoryBlock& block) : Memory(name, bytes, sanitizer::kActive ? nullptr : block.take(bytes)) {
    if (sanitizer::kActive && !map_guarded(kGuardBytes)) throw std::bad_alloc();
}

Memory::Memory(const char* name, uint32_t bytes) : Memory(name, bytes, nullptr) {
    if (!map_guarded(kWideGuardBytes) && !map_guarded(kGuardBytes)) throw std::bad_alloc();
}

Memory::Memory(const char* name, uint32_t bytes, uint8_t* data)
    : valid(bytes), name_(name), bytes_(bytes), guard_bytes_(0), data_(data) {}

bool Memory::map_guarded(int64_t guard_bytes) {
    void* mapping = mmap(nullptr, bytes_ + 2 * static_cast<size_t>(guard_bytes), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    guard_bytes_ = guard_bytes;
    data_ = static_cast<uint8_t*>(mapping) + guard_bytes_;
    mprotect(data_, bytes_, PROT_READ | PROT_WRITE);
    return true;
}

Memory::~Memory() {
    if (guard_bytes_) munmap(data_ - guard_bytes_, bytes_ + 2 * static_cast<size_t>(guard_bytes_));
}

void Validity::track_bytes() {
    if (byte_bits_) return;
    const size_t bytes = words_ * 64 * kUnitBytes / 8 + 8;
    if (!byte_storage_) byte_storage_ = new uint8_t[bytes];
    std::memset(byte_storage_, 0, bytes);
    byte_bits_ = byte_storage_;
}

void Validity::set_bytes(uint32_t begin, uint32_t bytes) {
    uint32_t at = begin;
    const uint32_t end = begin + bytes;
    const auto define = [&](uint32_t stop) {  // within one byte of bits
        byte_bits_[at / 8] |= static_cast<uint8_t>(((1u << (stop - at)) - 1) << at % 8);
        at = stop;
    };
    if (at % 8) define(std::min(end, (at + 7) / 8 * 8));
    std::memset(byte_bits_ + at / 8, 0xff, (end - at) / 8);
    at += (end - at) / 8 * 8;
    if (at < end) define(end);
}

int64_t Validity::first_undefined_byte(uint32_t begin, uint32_t bytes) const {
    for (uint32_t at = begin; at < begin + bytes;) {
        if (at % 8 == 0 && at + 8 <= begin + bytes && byte_bits_[at / 8] == 0xff) {
            at += 8;
            continue;
        }
        if (!(byte_bits_[at / 8] >> at % 8 & 1)) return at;
        ++at;
    }
    return -1;
}

void Validity::undefine_bytes(uint32_t begin, uint32_t bytes) {
    for (uint32_t at = begin; at < begin + bytes; ++at) byte_bits_[at / 8] &= static_cast<uint8_t>(~(1u << at % 8));
}

bool Validity::any_defined_byte(uint32_t begin, uint32_t bytes) const {
    for (uint32_t at = begin; at < begin + bytes; ++at)
        if (byte_bits_[at / 8] >> at % 8 & 1) return true;
    return false;
}

namespace {
// f(word, mask) for the words of the blocks that [begin, begin + bytes) touches.
template <class F>
void each_word(uint32_t begin, uint32_t bytes, F f) {
    if (bytes == 0) return;
    const uint32_t first = begin / kFractalBytes, last = (begin + bytes - 1) / kFractalBytes;
    for (uint32_t word = first / 64; word <= last / 64; ++word) {
        uint64_t mask = ~uint64_t{0};
        if (word == first / 64) mask &= ~uint64_t{0} << (first % 64);
        if (word == last / 64) mask &= ~uint64_t{0} >> (63 - last % 64);
        f(word, mask);
    }
}
}  // namespace

bool UnitFlags::all_equal(uint32_t begin, uint32_t bytes, bool value) const {
    bool equal = true;
    each_word(begin, bytes, [&](uint32_t word, uint64_t mask) { equal &= (bits[word] & mask) == (value ? mask : 0); });
    return equal;
}

void UnitFlags::assign(uint32_t begin, uint32_t bytes, bool value) {
    each_word(begin, bytes, [&](uint32_t word, uint64_t mask) {
        bits[word] = value ? bits[word] | mask : bits[word] & ~mask;
    });
}

}  // namespace ascend
