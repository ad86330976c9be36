// SPDX-License-Identifier: MIT
// How do the counters of vector functions reach the executor? It asks for them before each record of a vector core.
#include "chip/core.h"
#include "isa/vf.h"

namespace ascend::isa {

static_assert(kVfClassCount == kVfClasses);

namespace {
bool take(VfCounters& counters) {
    if (!vf_counts.any()) return false;
    const VfCounts taken = take_vf_counts();
    for (int i = 0; i < kVfClasses; ++i) counters.counts[i] = taken.counts[i];
    counters.calls = static_cast<uint16_t>(taken.calls ? taken.calls : 1);
    return true;
}
const bool registered = (set_vf_source(take), true);
}  // namespace

}  // namespace ascend::isa
