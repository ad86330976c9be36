// SPDX-License-Identifier: MIT
// How long does an instruction keep its pipe busy, if no flag, no other core and no other transfer holds it up?
#pragma once

#include "chip/spec.h"
#include "chip/trace.h"

namespace ascend {

// In cycles. Mechanisms and sources: docs/timing.md.
class InstructionTime {
public:
    explicit InstructionTime(const ChipSpec& spec);

    double mmad(const Record& record) const;
    double fix(const Record& record) const;  // its issue included
    double vector_phase(const VfPayload& phase) const;
    double simt(const SimtPayload& function) const;

private:
    const ChipSpec& spec_;
    double cycles_per_fractal_[kElementTypes];
};

}  // namespace ascend
