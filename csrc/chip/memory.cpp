// SPDX-License-Identifier: MIT
// How are the emulated memories backed? Anonymous mappings, page aligned; UB with inaccessible pages on both sides.
#include "chip/memory.h"

#include <sys/mman.h>

#include <new>

namespace ascend {

Memory::Memory(const char* name, uint32_t bytes, bool guarded)
    : valid(bytes), name_(name), bytes_(bytes), guard_bytes_(guarded ? 1u << 20 : 0) {
    const size_t total = size_t{bytes} + 2 * size_t{guard_bytes_};
    void* mapping = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(mapping) + guard_bytes_;
    mprotect(data_, bytes_, PROT_READ | PROT_WRITE);
}

Memory::~Memory() { munmap(data_ - guard_bytes_, size_t{bytes_} + 2 * size_t{guard_bytes_}); }

bool UnitFlags::all_equal(uint32_t begin, uint32_t bytes, bool value) const {
    for (uint32_t block = begin / kFractalBytes; block * kFractalBytes < begin + bytes; ++block)
        if ((bits[block / 64] >> (block % 64) & 1) != uint64_t{value}) return false;
    return true;
}

void UnitFlags::assign(uint32_t begin, uint32_t bytes, bool value) {
    for (uint32_t block = begin / kFractalBytes; block * kFractalBytes < begin + bytes; ++block) {
        const uint64_t bit = uint64_t{1} << (block % 64);
        bits[block / 64] = value ? bits[block / 64] | bit : bits[block / 64] & ~bit;
    }
}

}  // namespace ascend
