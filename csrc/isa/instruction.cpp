// SPDX-License-Identifier: MIT
// Is an address in global memory alive? The four last allocations a core touched answer nearly always.
#include "isa/instruction.h"

#include <algorithm>

#include "chip/address.h"
#include "chip/device.h"
#include "chip/launch.h"

namespace ascend::isa {

void Issue::global(const char* what, const GmFootprint& gm, uint32_t outer) const {
    if (gm.rows == 0 || gm.row_bytes == 0 || outer == 0) return;
    constexpr int64_t kMaxStride = (int64_t{1} << 40) - 1;  // ascend950.md 6; also keeps the sums below from overflow
    const int64_t row_stride = gm.rows > 1 ? gm.row_stride : 0, outer_stride = outer > 1 ? gm.outer_stride : 0;
    if ((row_stride | outer_stride) < 0 || std::max(row_stride, outer_stride) > kMaxStride) [[unlikely]]
        fail(format("%s: strides of %lld and %lld bytes in global memory; they are 0 to %lld", what, static_cast<long long>(row_stride),
                    static_cast<long long>(outer_stride), static_cast<long long>(kMaxStride)));
    const int64_t span = int64_t{gm.rows - 1} * row_stride + int64_t{outer - 1} * outer_stride + gm.row_bytes;
    const uint64_t begin = gm.address, end = begin + static_cast<uint64_t>(span);
    if (end > begin) [[likely]]
        for (const Core::GmRange& range : core.gm_ranges)
            if (begin >= range.begin && end <= range.end) return;
    Hbm::Range range;
    const Hbm& hbm = core.ai.launch->device().hbm;
    if (end <= begin || !hbm.find(reinterpret_cast<const void*>(begin), &range)) fail(format("%s: %s", what, not_live(hbm, begin).c_str()));
    if (end > range.end)
        fail(format("%s: global memory 0x%llx to 0x%llx leaves its tensor, which ends at 0x%llx (%llu bytes too far)",
                    what, static_cast<unsigned long long>(begin), static_cast<unsigned long long>(end),
                    static_cast<unsigned long long>(range.end), static_cast<unsigned long long>(end - range.end)));
    for (int i = 3; i > 0; --i) core.gm_ranges[i] = core.gm_ranges[i - 1];
    core.gm_ranges[0] = {range.begin, range.end};
}

void Issue::fail_outside(const Memory& memory, const char* what, int64_t offset, int64_t bytes) const {
    if (offset >= 0 && offset + bytes <= memory.bytes()) fail(format("%s: %s", what, beyond_allocation(memory, offset, bytes).c_str()));
    if (memory.guard_bytes() && !memory.is_near(memory.at(0) + offset))
        fail(format("%s: 0x%llx is no address in UB; an array that kernel text declares is a variable of the host, ascend::isa::ub_base() points to UB", what,
                    static_cast<unsigned long long>(reinterpret_cast<uint64_t>(memory.at(0)) + static_cast<uint64_t>(offset))));
    fail(format("%s: %s addresses 0x%llx to 0x%llx; the memory ends at 0x%x", what, memory.name(), static_cast<long long>(offset),
                static_cast<long long>(offset + bytes), memory.bytes()));
}

void give_up(const Core& core, const char* name, Pipe pipe, const void* pc, const std::string& what) {
    std::exception_ptr error;
    try {
        core.fail(name, pipe, pc, what);
    } catch (...) {
        error = std::current_exception();
    }
    forget_simt_launch();
    running_core->fiber.abandon(error);
}

void Issue::on(CoreKind kind) const {
    const bool cube = kind == CoreKind::aic;
    if (cube == (core.kind == CoreKind::aic)) return;
    fail(cube ? "only the cube core (AIC) has this instruction" : "only a vector core (AIV) has this instruction");
}

}  // namespace ascend::isa
