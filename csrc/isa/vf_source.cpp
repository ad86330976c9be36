// SPDX-License-Identifier: MIT
// How do the counters of vector functions reach the executor? It asks for them before each record of a vector core; what is
// counted for phases that are over, the core keeps.
#include "chip/core.h"
#include "isa/vf.h"

namespace ascend::isa {

static_assert(kVfClassCount == kVfClasses);

namespace {
bool take(VfCounters& counters) {
    if (!vf_counts.any()) return false;
    const VfCounts taken = take_vf_counts();
    for (int i = 0; i < kVfClasses; ++i) counters.counts[i] = taken.counts[i];
    counters.calls = taken.calls;
    counters.phase = taken.phase;
    return true;
}
const bool registered = (set_vf_source(take), true);
}  // namespace

void enter_vf_phase(uint32_t phase) {
    if (vf_counts.any() && running_core) running_core->end_vector_phase();
    vf_counts.phase = phase;
}

}  // namespace ascend::isa
