// SPDX-License-Identifier: MIT
#include "chip/violation.h"

#include "chip/core.h"
#include "chip/fault.h"
#include "chip/source_line.h"

namespace ascend {

std::string describe(const Violation& v, const LaunchTrace& trace) {
    const Record& r = trace.ai_cores[static_cast<size_t>(v.ai_core)].of[static_cast<int>(v.core)][v.record];
    std::string line = format("  core %d  %s  %s  %s ", v.ai_core, core_kind_name(v.core), pipe_name(r.pipe), instruction_name(r));
    if (v.kind == ViolationKind::flag_set_twice)
        line += format("sets flag %s->%s id %d at cycle %.0f, before the wait at cycle %.0f consumes the one before",
                       pipe_name(r.pipe), pipe_name(r.sync.other), r.sync.id, v.at_cycles, v.other_cycles);
    else if (v.kind == ViolationKind::flag_left_set)
        line += format("sets flag %s->%s id %d at cycle %.0f, and nothing ever consumes the one before: %.0f sets are left when the block ends",
                       pipe_name(r.pipe), pipe_name(r.sync.other), r.sync.id, v.at_cycles, v.other_cycles);
    else
        line += format("(record %llu) never begins: what it waits for would be issued behind a full queue",
                       static_cast<unsigned long long>(v.record));
    if (r.site < trace.sites.size()) line += "     " + source_line(trace.sites[r.site]);
    return line;
}

}  // namespace ascend
