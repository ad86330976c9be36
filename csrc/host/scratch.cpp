// SPDX-License-Identifier: MIT
// Where do the packed operands of one MMAD live? Grow-only buffers of the calling thread, 64-byte aligned.
#include "host/scratch.h"

#include <cstdlib>
#include <new>

namespace ascend::host {
namespace {

struct Buffers {
    uint8_t* data[static_cast<size_t>(ScratchSlot::kCount)] = {};
    size_t size[static_cast<size_t>(ScratchSlot::kCount)] = {};
    ~Buffers() {
        for (uint8_t* buffer : data) std::free(buffer);
    }
};

thread_local Buffers buffers;

}  // namespace

uint8_t* scratch(ScratchSlot slot, size_t bytes) {
    const size_t i = static_cast<size_t>(slot);
    if (buffers.size[i] < bytes) {
        const size_t size = (bytes + 4095) / 4096 * 4096;
        std::free(buffers.data[i]);
        buffers.data[i] = static_cast<uint8_t*>(std::aligned_alloc(4096, size));
        buffers.size[i] = buffers.data[i] ? size : 0;
        if (!buffers.data[i]) throw std::bad_alloc();
    }
    return buffers.data[i];
}

}  // namespace ascend::host
