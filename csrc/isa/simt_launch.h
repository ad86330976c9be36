// SPDX-License-Identifier: MIT
// How do up to 2048 SIMT threads of a vector core run on one host thread? One after another, as a plain loop, until one waits.
//
// Note "SIMT threads". A thread that reaches a barrier or a warp exchange keeps the stack it is on, and the next thread starts
// on another one; so a function in which nobody waits costs a loop, and one that waits a few ns a thread and wait. Warps run in
// order, each until all of its threads have ended or wait for the barrier.
//
// Which threads take part in a warp exchange? Those that wait in it when no other thread of the warp can go on. If they wait in
// different ones (divergent control flow), the one that comes first in the source goes first, so that threads inside a branch
// or loop catch up with those behind it. An exchange is known by its source line, not by its address: the host compiler may
// copy code. Threads that have ended do not take part in anything.
//
// Note "Barriers". All threads must reach the same asc_syncthreads, by its source line: else the launch ends. Those that have ended
// need not (choice; the chip's rule is unpublished; TileLang puts barriers into branches that whole warps take). But a thread that
// has passed by a barrier which others of its warp reach, and has come to the end of the function, is a fault; one that has returned
// is none: ASC_SIMT_END tells them apart (ascend_sim/jit/simt_ends.py inserts it; without it nothing is said of them).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isa/memory_check.h"
#include "isa/sync.h"

namespace ascend::isa {

constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kMaxSimtThreads = 2048;

struct SimtIndex {
    uint32_t x, y, z, linear;
};

// What one function did, for its record: sums over all threads, exchanges once a warp.
struct SimtCounts {
    uint64_t operations;  // counted by ASC_SIMT_COST
    uint64_t gm_bytes;
    uint32_t barriers, exchanges, ub_atomics, gm_atomics, gm_atomics_again;
};

// Values that the threads of one warp hand to each other; 8 bytes hold every type.
struct WarpExchange {
    uint64_t value[kWarpThreads], result[kWarpThreads];
    int32_t argument[kWarpThreads], width[kWarpThreads];
    uint32_t undefined;             // lanes that read one which takes no part: that one's number is their argument now
};
using ExchangeRule = void (*)(WarpExchange&, uint32_t active);

struct SimtState {
    SimtIndex at;                   // of the running thread
    uint32_t next, end;             // threads of its warp that have not begun
    uint32_t has_waited;            // a thread of its warp has
    uint32_t dim_x, dim_y, dim_z;
    uint32_t is_running;
    uint64_t ub_begin;
    uint64_t last_atomic;           // address in global memory
    SimtCounts counts;
    WarpExchange* exchange;         // the launch's: only one warp at a time has threads that wait in an exchange. Not in here,
                                    // because libraries that a process loads late share 1.6 KB for such variables
};
extern __thread SimtState simt __attribute__((tls_model("initial-exec"), visibility("default")));

using SimtLoop = void (*)(const void* body);
void simt_launch(uint32_t x, uint32_t y, uint32_t z, SimtLoop loop, const void* body, const void* pc);
bool simt_thread_ended();           // false: so have all the others
void simt_barrier(const char* file, uint32_t line);
void simt_exchange(ExchangeRule rule, const char* file, uint32_t line);

// Called behind each thread: whether there is another to run on this stack.
[[gnu::always_inline]] inline bool simt_next() {
    SimtState& s = simt;
    if (s.has_waited || s.next >= s.end) return simt_thread_ended();
    s.at.linear = s.next++;
    if (++s.at.x == s.dim_x) {
        s.at.x = 0;
        if (++s.at.y == s.dim_y) {
            s.at.y = 0;
            ++s.at.z;
        }
    }
    return true;
}

template <class Body>
void simt_loop(const void* body) {
    do {
        (*static_cast<const Body*>(body))();
        ASC_CHECKED(if (memory_check.pending_bytes) settle_pending_store();)
    } while (simt_next());
}

template <class T>
uint64_t simt_bits(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T>
T simt_value(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct SimtAxisX { static uint32_t index() { return simt.at.x; } static uint32_t extent() { return simt.dim_x; } };
struct SimtAxisY { static uint32_t index() { return simt.at.y; } static uint32_t extent() { return simt.dim_y; } };
struct SimtAxisZ { static uint32_t index() { return simt.at.z; } static uint32_t extent() { return simt.dim_z; } };
template <class Axis>
struct SimtThreadIndex {
    operator uint32_t() const { return Axis::index(); }
};
template <class Axis>
struct SimtExtent {
    operator uint32_t() const { return Axis::extent(); }
};
template <class Axis>
uint32_t printed(SimtThreadIndex<Axis> index) { return index; }
template <class Axis>
uint32_t printed(SimtExtent<Axis> extent) { return extent; }

}  // namespace ascend::isa

namespace cce {
struct dim3 {
    uint32_t x = 1, y = 1, z = 1;
    constexpr dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};
}  // namespace cce
using cce::dim3;

// Runs kFunction(arguments..) for every thread of the block of threads; on vector cores only.
template <auto kFunction, class... Args>
ASCEND_SIM_INSTRUCTION void asc_vf_call(cce::dim3 threads, Args... arguments) {
    const auto body = [&] { kFunction(arguments...); };
    ascend::isa::simt_launch(threads.x, threads.y, threads.z, &ascend::isa::simt_loop<decltype(body)>, &body, ASCEND_SIM_HERE);
}

// What the statements behind it cost each thread that passes: operations, and bytes of global memory. Inserted into generated
// text (ascend_sim/toolkit/simt_cost.py); without it a thread is charged a fixed amount.
#define ASC_SIMT_COST(operation_count, gm_byte_count)                    \
    (ascend::isa::simt.counts.operations += uint64_t{operation_count}, \
     ascend::isa::simt.counts.gm_bytes += uint64_t{gm_byte_count})
