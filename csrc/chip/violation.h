// SPDX-License-Identifier: MIT
// What did a kernel do that the chip's flags do not allow, as only the times of its instructions show it?
#pragma once

#include <cstdint>
#include <string>

#include "chip/trace.h"

namespace ascend {

enum class ViolationKind : uint8_t {
    flag_set_twice,                // a set before the wait that consumes the one before, in simulated time
    never_continues,               // a record that waits for something that does not happen
    flag_left_set,                 // a set before the one before was consumed, which nothing ever does
};

struct Violation {
    ViolationKind kind;
    int ai_core;
    CoreKind core;
    uint64_t record;               // index in that core's trace
    double at_cycles;              // of the second set
    double other_cycles;           // when the first one was consumed; flag_left_set: how many sets are left
};

// One line for an error message: core, pipe, flag, times, source line.
std::string describe(const Violation& violation, const LaunchTrace& trace);

}  // namespace ascend
