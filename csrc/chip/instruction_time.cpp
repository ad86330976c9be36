// SPDX-License-Identifier: MIT
#include "chip/instruction_time.h"

#include <algorithm>

namespace ascend {

InstructionTime::InstructionTime(const ChipSpec& spec) : spec_(spec) {
    for (int i = 0; i < kElementTypes; ++i) {
        const int k0 = elements_per_unit(static_cast<ElementType>(i));
        cycles_per_fractal_[i] = 256.0 * k0 / spec.cube_macs_per_cycle[i];
    }
}

double InstructionTime::mmad(const Record& record) const {
    const MmadPayload& m = record.mmad;
    const double cycles = record.amount * cycles_per_fractal_[static_cast<int>(record.type)];
    const uint32_t extent = (std::max(m.m, m.n) + 15u) / 16 * 16;
    return m.mx && extent < spec_.cube_mx_min_extent ? cycles * (spec_.cube_mx_min_extent / extent) : cycles;
}

double InstructionTime::fix(const Record& record) const {
    const FixPayload& f = record.fix;
    const PathSpec& path = spec_.of(record.path);
    const double elements = static_cast<double>(f.m) * f.n * std::max<double>(record.matrices, 1);
    if (record.path == Path::l0c_to_ub_dual) {
        // Each vector core takes a row a cycle at most: half of the columns, or all of them.
        const double row_bytes = record.amount / elements * (f.dual == 2 ? f.n / 2 : f.n);
        return path.issue_cycles + record.amount / std::min(path.bytes_per_cycle, 2 * row_bytes);
    }
    const double moving = std::max(record.amount / path.bytes_per_cycle, elements / spec_.fix_elements_per_cycle);
    return path.issue_cycles + moving * (f.c0_strided ? spec_.fix_c0_strided_factor : 1);
}

// Ports of the front end and of UB work side by side, and so do the units.
double InstructionTime::vector_phase(const VfPayload& phase) const {
    double issue = 0, write = 0, memory = 0, unit = 0;
    for (int i = 0; i < kVfClasses; ++i) {
        const VfClassSpec& cost = spec_.vf_class[i];
        issue += phase.counts[i] * cost.issue_cycles;
        write += phase.counts[i] * cost.write_cycles;
        memory += phase.counts[i] * cost.memory_cycles;
        unit = std::max(unit, phase.counts[i] * cost.unit_cycles);
    }
    return std::max({issue, write, memory, unit});
}

// Warps share the schedulers; what their own loads and stores move in global memory flows meanwhile. Atomics and barriers
// come on top.
double InstructionTime::simt(const SimtPayload& f) const {
    const double warps = (f.threads + 31) / 32;
    const double body = f.operations ? static_cast<double>(f.operations) / 32 * spec_.simt_operation_cycles
                                     : warps * spec_.simt_warp_cycles;
    const double issue = (body + f.exchanges * spec_.simt_exchange_cycles) / std::min(warps, spec_.simt_schedulers);
    const double memory = f.gm_bytes ? spec_.simt_gm_latency_cycles + static_cast<double>(f.gm_bytes) / spec_.simt_gm_bytes_per_cycle : 0;
    return spec_.vf_start_cycles + spec_.vf_drain_cycles + std::max(issue, memory) + f.barriers * spec_.simt_barrier_cycles +
           f.ub_atomics * spec_.simt_ub_atomic_cycles + (f.gm_atomics - f.gm_atomics_again) * spec_.simt_gm_atomic_cycles +
           f.gm_atomics_again * spec_.simt_gm_atomic_again_cycles;
}

}  // namespace ascend
