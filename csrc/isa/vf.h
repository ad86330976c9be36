// SPDX-License-Identifier: MIT
// What did the vector functions since the last record cost? Counters per cost class, incremented by each instruction.
//
// A vector function is plain host code, so nothing announces its instructions to the executor. Each instruction counts
// itself here, and the executor takes the counters when the core issues its next record: one PIPE_V instruction for all
// vector functions in between. `calls` is counted by VfScope, which the text rewrite puts first in every vector function
// (ascend_sim/toolkit/rewrite.py) and our own kernels write as ASC_VF; without it, counts with calls = 0 mean one call.
//
// What follows each other on the chip shares no cycles: functions, and the loops of one that stand side by side. Each is a
// phase with counts of its own. ASC_VF begins one, ASC_VF_LOOP another; a loop that runs again adds to its phase. Inside a
// phase the busiest resource decides (docs/timing.md).
#pragma once

#include <cstdint>

namespace ascend::isa {

// Units are issue slots of the class, not instructions: an instruction at half rate counts twice.
// A slot is a whole register of 256 bytes, except where the class says otherwise (DK-REG); [vf.*] of the chip file prices it.
enum class VfClass : uint8_t {
    alu,        // float and integer arithmetic, logic, shift, compare, select, broadcast
    alu_int32,  // 32-bit integer add, subtract, multiply, absolute value: a register takes 2 slots of 32 elements
    special,    // exp, ln, sqrt, div: a 32-bit register takes 4 slots of 16 elements; register gather: 4 slots a register
    cast,       // f32 <-> f16/bf16, fp4 <-> bf16 one slot; f32 -> fp8 and f32 <-> s32 two; f32 -> s64 four
    reduce,     // across lanes or 32-byte blocks
    load,
    store,
    permute,    // interleave, pack, unpack, squeeze: single issue
    gather,     // per-element addresses: gather, scatter, histogram
    mask,       // predicates
};
constexpr int kVfClassCount = 10;

struct VfCounts {
    uint32_t counts[kVfClassCount];
    uint32_t calls;
    uint32_t phase;   // of which these are the counts

    bool any() const {
        uint32_t sum = calls;
        for (uint32_t count : counts) sum |= count;
        return sum != 0;
    }
};

// Of the running core: a vector function runs to its end without a fiber switch, and the executor takes the counters
// before it switches. __thread, not thread_local: no initialisation guard on each access.
extern __thread VfCounts vf_counts __attribute__((tls_model("initial-exec"), visibility("default")));

[[gnu::always_inline]] inline void vf_count(VfClass kind, uint32_t slots = 1) {
    vf_counts.counts[static_cast<int>(kind)] += slots;
}

// Reads and clears.
inline VfCounts take_vf_counts() {
    VfCounts counts = vf_counts;
    vf_counts = VfCounts{};
    return counts;
}

// Out of line: lays the counts by for their phase and begins at zero.
[[gnu::visibility("default")]] void enter_vf_phase(uint32_t phase);

// The name of a phase: where its mark stands.
consteval uint32_t vf_place(const char* file, uint32_t line) {
    uint32_t hash = 2166136261u ^ line;
    for (; *file; ++file) hash = (hash ^ static_cast<uint8_t>(*file)) * 16777619u;
    return hash | 1;
}

[[gnu::always_inline]] inline void vf_phase(uint32_t phase) {
    if (vf_counts.phase != phase) enter_vf_phase(phase);
}

// Only told where races are looked for: whose are plain accesses to UB, a vector function's or scalar code's?
extern __thread bool in_vector_function __attribute__((tls_model("initial-exec"), visibility("default")));

struct VfScope {
    [[gnu::always_inline]] explicit VfScope(uint32_t phase) {
        vf_phase(phase);
        ++vf_counts.calls;
#if defined(ASCEND_SIM_CHECK_RACES)
        in_vector_function = true;
        asm volatile("" ::: "memory");  // accesses stay on their side
    }
    [[gnu::always_inline]] ~VfScope() {
        asm volatile("" ::: "memory");
        in_vector_function = was_in_one_;
    }
    const bool was_in_one_ = in_vector_function;
#else
    }
#endif
};

// A rule of the chip broken inside a vector function: ends the launch with `instruction`, what was wrong and the address.
[[noreturn, gnu::cold, gnu::visibility("default")]] void vector_fault(const char* instruction, const char* what,
                                                                      const void* address);

}  // namespace ascend::isa

#define ASC_VF [[maybe_unused]] const ascend::isa::VfScope asc_vf_scope_(ascend::isa::vf_place(__FILE__, __LINE__))
#define ASC_VF_LOOP ascend::isa::vf_phase(ascend::isa::vf_place(__FILE__, __LINE__))
