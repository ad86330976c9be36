// SPDX-License-Identifier: MIT
// Groups of SIMT threads under the header name that kernel sources include: the threads of a warp that are here together.
#pragma once

#include "isa/simt.h"

namespace cooperative_groups {

class coalesced_group {
public:
    explicit coalesced_group(uint32_t mask) : mask_(mask) {}
    void sync(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) const {
        ascend::isa::simt_exchange(ascend::isa::meet, file, line);
    }
    uint32_t size() const { return static_cast<uint32_t>(__builtin_popcount(mask_)); }
    uint32_t num_threads() const { return size(); }
    uint32_t thread_rank() const { return static_cast<uint32_t>(__builtin_popcount(mask_ & ((1u << laneid()) - 1))); }

private:
    uint32_t mask_;
};

inline coalesced_group coalesced_threads(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    return coalesced_group(asc_activemask(file, line));
}

}  // namespace cooperative_groups
