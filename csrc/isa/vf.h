// SPDX-License-Identifier: MIT
// What did the vector functions since the last record cost? Counters per cost class, incremented by each instruction.
//
// A vector function is plain host code, so nothing announces its instructions to the executor. Each instruction counts
// itself here, and the executor takes the counters when the core issues its next record: one PIPE_V record for all
// vector functions in between. `calls` is counted by VfScope, which the text rewrite puts first in every vector function
// (ascend_sim/toolkit/rewrite.py) and our own kernels write as ASC_VF; without it, counts with calls = 0 mean one call.
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

struct VfScope {
    [[gnu::always_inline]] VfScope() { ++vf_counts.calls; }
};

// A rule of the chip broken inside a vector function: ends the launch with `instruction`, what was wrong and the address.
[[noreturn, gnu::cold, gnu::visibility("default")]] void vector_fault(const char* instruction, const char* what,
                                                                      const void* address);

}  // namespace ascend::isa

#define ASC_VF [[maybe_unused]] ascend::isa::VfScope asc_vf_scope_
