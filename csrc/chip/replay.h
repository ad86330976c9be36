// SPDX-License-Identifier: MIT
// When did each instruction of a launch begin and end on the chip? Traces and a chip description in, times
// out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chip/l2.h"
#include "chip/spec.h"
#include "chip/trace.h"
#include "chip/violation.h"

namespace ascend {

struct ReplayOptions {
    bool keep_times = false;       // begin and end of every record
};

struct RecordTime {
    double start_cycles = -1;      // leaves its queue, or for a wait: its pipe has reached it
    double end_cycles = -1;        // its result is visible to instructions behind a flag; for a wait: it is satisfied
};

struct PipeUse {
    double busy_cycles = 0;        // the pipe's path is occupied
    double wait_cycles = 0;        // an issued wait keeps the pipe idle (flags, locks, barriers, unit flags)
    uint64_t instructions = 0;     // without synchronisation
};

struct CoreUse {
    PipeUse pipe[kPipes];
    double end_cycles = 0;
    uint64_t records = 0;
};

struct ReplayResult {
    double cycles = 0;             // from the start of the first block to the last result
    double us = 0;                 // launch overhead + cycles / clock
    double launch_us = 0;
    std::vector<std::array<CoreUse, 3>> cores;
    uint64_t gm_read_bytes = 0, gm_written_bytes = 0;       // sums of the records' amounts
    uint64_t l2_bytes = 0;                                  // in whole 128 B transactions
    uint64_t hbm_read_bytes = 0, hbm_written_bytes = 0;
    double macs = 0;                                        // padded to whole fractals
    std::vector<Violation> violations;
    std::vector<std::array<std::vector<RecordTime>, 3>> times;  // if keep_times
};

ReplayResult replay(const LaunchTrace& trace, const ChipSpec& spec, L2State& l2, const ReplayOptions& options = {});

}  // namespace ascend
