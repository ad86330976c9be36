// SPDX-License-Identifier: MIT
// What on-chip memories does an AI core have, and which of their bytes hold data? True sizes; validity per 32 bytes.
#pragma once

#include <cstdint>
#include <cstring>

namespace ascend {

constexpr uint32_t kL1Bytes = 512 * 1024;
constexpr uint32_t kL0aBytes = 64 * 1024;
constexpr uint32_t kL0bBytes = 64 * 1024;
constexpr uint32_t kL0MxBytes = 4 * 1024;  // scale stores; address = L0 address / 16
constexpr uint32_t kL0cBytes = 256 * 1024;
constexpr uint32_t kBtBytes = 4 * 1024;
constexpr uint32_t kFbBytes = 4 * 1024;
constexpr uint32_t kUbBytes = 256 * 1024;
constexpr uint32_t kFractalBytes = 512;
constexpr uint32_t kUnitBytes = 32;        // validity granule, C0
constexpr uint16_t kUndefined = 0x7fe5;    // what undefined UB holds while bytes are followed: a quiet NaN of f16 and bf16, and twice of f32

// Which 32-byte granules of a memory have been written since the block began.
class Validity {
public:
    explicit Validity(uint32_t bytes) : words_((bytes / kUnitBytes + 63) / 64), bits_(new uint64_t[words_]()) {}
    ~Validity() {
        delete[] bits_;
        delete[] byte_storage_;
    }
    Validity(const Validity&) = delete;
    Validity& operator=(const Validity&) = delete;

    void clear() {
        std::memset(bits_, 0, words_ * 8);
        byte_bits_ = nullptr;
    }
    // Every granule that [begin, begin + bytes) touches becomes defined.
    void set(uint32_t begin, uint32_t bytes) {
        if (bytes == 0) return;
        set_granules(begin / kUnitBytes, (begin + bytes - 1) / kUnitBytes);
        if (byte_bits_) [[unlikely]] set_bytes(begin, bytes);
    }
    // For a checked launch: from now until the block's end bytes are followed, too. No effect if they are already.
    void track_bytes();
    // A bit per byte, 8 spare bytes behind; null: not followed.
    uint8_t* byte_bits() const { return byte_bits_; }
    // First undefined byte offset in [begin, begin + bytes), or -1; bytes are followed.
    int64_t first_undefined_byte(uint32_t begin, uint32_t bytes) const;
    bool any_defined_byte(uint32_t begin, uint32_t bytes) const;
    void undefine_bytes(uint32_t begin, uint32_t bytes);
    void undefine_granule(uint32_t byte) { bits_[byte / kUnitBytes / 64] &= ~(uint64_t{1} << (byte / kUnitBytes % 64)); }
    bool test(uint32_t byte) const { return bits_[byte / kUnitBytes / 64] >> (byte / kUnitBytes % 64) & 1; }
    // 16 granules, one 512-byte fractal, as bits; `begin` is a multiple of 512.
    uint32_t fractal(uint32_t begin) const {
        const uint32_t granule = begin / kUnitBytes;
        return static_cast<uint32_t>(bits_[granule / 64] >> (granule % 64)) & 0xffff;
    }
    void set_fractal(uint32_t begin, uint32_t bits) {
        const uint32_t granule = begin / kUnitBytes;
        uint64_t& word = bits_[granule / 64];
        word = (word & ~(uint64_t{0xffff} << (granule % 64))) | uint64_t{bits & 0xffff} << (granule % 64);
    }
    // First undefined byte offset in [begin, begin + bytes), or -1.
    int64_t first_undefined(uint32_t begin, uint32_t bytes) const {
        if (bytes == 0) return -1;
        const uint32_t first = begin / kUnitBytes, last = (begin + bytes - 1) / kUnitBytes;
        for (uint32_t word = first / 64; word <= last / 64; ++word) {
            uint64_t missing = ~bits_[word];
            if (word == first / 64) missing &= ~uint64_t{0} << (first % 64);
            if (word == last / 64) missing &= ~uint64_t{0} >> (63 - last % 64);
            if (missing) return (int64_t{word} * 64 + __builtin_ctzll(missing)) * kUnitBytes;
        }
        return -1;
    }

private:
    void set_granules(uint32_t first, uint32_t last) {
        const uint32_t first_word = first / 64, last_word = last / 64;
        const uint64_t head = ~uint64_t{0} << (first % 64), tail = ~uint64_t{0} >> (63 - last % 64);
        if (first_word == last_word) {
            bits_[first_word] |= head & tail;
            return;
        }
        bits_[first_word] |= head;
        for (uint32_t word = first_word + 1; word < last_word; ++word) bits_[word] = ~uint64_t{0};
        bits_[last_word] |= tail;
    }

    void set_bytes(uint32_t begin, uint32_t bytes);

    size_t words_;
    uint64_t* bits_;
    uint8_t* byte_bits_ = nullptr;
    uint8_t* byte_storage_ = nullptr;
};

// Host memory for all that one AI core works on, in one huge page where the system has them: a step through L1 touches
// more small pages than the host's first-level TLB has entries.
class MemoryBlock {
public:
    static constexpr uint32_t kBytes = 2 << 20;
    MemoryBlock();
    ~MemoryBlock();
    MemoryBlock(const MemoryBlock&) = delete;
    MemoryBlock& operator=(const MemoryBlock&) = delete;

    uint8_t* take(uint32_t bytes);  // a multiple of the page size; zero

private:
    void* mapping_;
    uint8_t* data_;
    uint32_t used_ = 0;
};

// A memory: bytes and their validity. UB lies between guard pages, because scalar and SIMT code dereferences it.
class Memory {
public:
    Memory(const char* name, uint32_t bytes, MemoryBlock& block);
    Memory(const char* name, uint32_t bytes);  // between guard pages
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    const char* name() const { return name_; }
    uint32_t bytes() const { return bytes_; }
    // Of them, from address 0, the kernel's: all, unless a checked launch says less.
    uint32_t usable_bytes() const { return usable_bytes_; }
    void set_usable_bytes(uint32_t bytes) { usable_bytes_ = bytes; }
    int64_t guard_bytes() const { return guard_bytes_; }  // of empty addresses on each side
    uint8_t* at(uint32_t offset) { return data_ + offset; }
    const uint8_t* at(uint32_t offset) const { return data_ + offset; }
    // In the memory or its guard pages.
    bool is_near(const void* pointer) const {
        const auto* p = static_cast<const uint8_t*>(pointer);
        return p >= data_ - guard_bytes_ && p < data_ + bytes_ + guard_bytes_;
    }
    // Offset of a host pointer into this memory, or -1.
    int64_t offset_of(const void* pointer) const {
        const auto difference = static_cast<const uint8_t*>(pointer) - data_;
        return difference >= 0 && difference <= bytes_ ? difference : -1;
    }
    Validity valid;

private:
    Memory(const char* name, uint32_t bytes, uint8_t* data);
    bool map_guarded(int64_t guard_bytes);

    const char* name_;
    uint32_t bytes_, usable_bytes_ = bytes_;
    int64_t guard_bytes_;
    uint8_t* data_;
};

// One bit per 512 B of L0C: set by the MMAD that produced the block, cleared by the FIX that drained it.
struct UnitFlags {
    uint64_t bits[kL0cBytes / kFractalBytes / 64] = {};
    bool all_equal(uint32_t begin, uint32_t bytes, bool value) const;
    void assign(uint32_t begin, uint32_t bytes, bool value);
    void clear() { std::memset(bits, 0, sizeof bits); }
};

}  // namespace ascend
