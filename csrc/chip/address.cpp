// SPDX-License-Identifier: MIT
// Is an address another device's, or the host's? The devices know the first, the host's page tables the second.
#include "chip/address.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "chip/fault.h"
#include "chip/hbm.h"

namespace ascend {

namespace {

bool is_mapped(uint64_t address) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    unsigned char resident;
    return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0 || errno != ENOMEM;
}

}  // namespace

std::string whose_memory(const Hbm& own, uint64_t address) {
    const auto* p = reinterpret_cast<const void*>(address);
    const auto at = static_cast<unsigned long long>(address);
    if (own.is_near(p)) return {};
    if (const Hbm* other = hbm_containing(p)) {
        Hbm::Range range;
        const bool is_live = other->find(p, &range);
        return format(is_live ? "global memory 0x%llx belongs to a tensor on npu:%d; the kernel runs on npu:%d"
                              : "global memory 0x%llx lies on npu:%d and belongs to no live tensor; the kernel runs on npu:%d",
                      at, other->device(), own.device());
    }
    if (!is_mapped(address)) return {};
    return format("address 0x%llx is memory of the host (neither npu tensor nor UB); was a tensor on cpu passed by data_ptr()?", at);
}

std::string not_live(const Hbm& own, uint64_t address) {
    const std::string other = whose_memory(own, address);
    return other.empty() ? format("global memory 0x%llx belongs to no live tensor", static_cast<unsigned long long>(address)) : other;
}

}  // namespace ascend
