// SPDX-License-Identifier: MIT
// Synchronisation instructions under their public names. Sources: ascend950.md 3, tilelang_ascend.md 5.
#pragma once

#include "chip/pipe.h"
#include "isa/core_context.h"
#include "isa/types.h"

namespace ascend::isa {
[[gnu::noinline]] void sync_notify(Pipe source, Pipe destination, int id, const void* pc);
[[gnu::noinline]] void sync_wait(Pipe source, Pipe destination, int id, const void* pc);
[[gnu::noinline]] void lock(Pipe pipe, int id, const void* pc);
[[gnu::noinline]] void unlock(Pipe pipe, int id, const void* pc);
[[gnu::noinline]] void sync_pipe(Pipe pipe, const void* pc);
[[gnu::noinline]] void intra_arrive(Pipe pipe, int id, const void* pc);
[[gnu::noinline]] void intra_wait(Pipe pipe, int id, const void* pc);
[[gnu::noinline]] void inter_arrive(Pipe pipe, int id, const void* pc);
[[gnu::noinline]] void inter_wait(Pipe pipe, int id, const void* pc);
[[gnu::noinline]] void cross_set(Pipe pipe, int mode, int id, const void* pc, Spelling spelling = Spelling::cross_mode);
[[gnu::noinline]] void cross_wait(Pipe pipe, int mode, int id, const void* pc, Spelling spelling = Spelling::cross_mode);
// An address just behind an instruction of the caller, as a return address is, also where the caller was inlined: names the
// kernel's source line in reports.
#define ASCEND_SIM_HERE (ascend::isa::here())
[[gnu::always_inline]] inline const void* here() {
    const void* pc;
#if defined(__x86_64__)
    asm volatile("leaq 0(%%rip), %0" : "=r"(pc));
#else
    asm volatile("adr %0, . + 4" : "=r"(pc));
#endif
    return pc;
}
}  // namespace ascend::isa

#define ASCEND_SIM_INSTRUCTION [[gnu::always_inline]] inline

// Set when everything issued so far on `source` has completed; `destination` consumes it. Ids 0-7 a pair of pipes.
ASCEND_SIM_INSTRUCTION void asc_sync_notify(pipe_t source, pipe_t destination, int id) {
    ascend::isa::sync_notify(ascend::isa::pipe_of(source), ascend::isa::pipe_of(destination), id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync_wait(pipe_t source, pipe_t destination, int id) {
    ascend::isa::sync_wait(ascend::isa::pipe_of(source), ascend::isa::pipe_of(destination), id, ASCEND_SIM_HERE);
}
// The lock form, ids 0-31: a lock waits for all unlocks of its id that precede it in program order.
ASCEND_SIM_INSTRUCTION void asc_lock(pipe_t pipe, int id, int /*mode*/ = 0) {
    ascend::isa::lock(ascend::isa::pipe_of(pipe), id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_unlock(pipe_t pipe, int id, int /*mode*/ = 0) {
    ascend::isa::unlock(ascend::isa::pipe_of(pipe), id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync_pipe(pipe_t pipe) {
    ascend::isa::sync_pipe(ascend::isa::pipe_of(pipe), ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync() { ascend::isa::sync_pipe(ascend::Pipe::all, ASCEND_SIM_HERE); }
// Between the cores of a block (cross-core flags, mode 4) and between all blocks (mode 0).
ASCEND_SIM_INSTRUCTION void asc_sync_intra_arrive(pipe_t pipe, int id) {
    ascend::isa::intra_arrive(ascend::isa::pipe_of(pipe), id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync_intra_wait(pipe_t pipe, int id) {
    ascend::isa::intra_wait(ascend::isa::pipe_of(pipe), id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync_inter_arrive(pipe_t pipe, int id) {
    ascend::isa::inter_arrive(ascend::isa::pipe_of(pipe), id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync_inter_wait(pipe_t pipe, int id) {
    ascend::isa::inter_wait(ascend::isa::pipe_of(pipe), id, ASCEND_SIM_HERE);
}
// Cross-core flags with their mode spelled out: 0 grid, 1 the vector cores of a block, 2 cube and both, 4 cube and one.
ASCEND_SIM_INSTRUCTION void asc_sync_cross_set(pipe_t pipe, int mode, int id) {
    ascend::isa::cross_set(ascend::isa::pipe_of(pipe), mode, id, ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_sync_cross_wait(pipe_t pipe, int mode, int id) {
    ascend::isa::cross_wait(ascend::isa::pipe_of(pipe), mode, id, ASCEND_SIM_HERE);
}
// The same between the vector cores of a block (mode 1), and between its cube and both of them (mode 2).
ASCEND_SIM_INSTRUCTION void asc_sync_subblock_arrive(pipe_t pipe, int id) {
    ascend::isa::cross_set(ascend::isa::pipe_of(pipe), 1, id, ASCEND_SIM_HERE, ascend::Spelling::scope);
}
ASCEND_SIM_INSTRUCTION void asc_sync_subblock_wait(pipe_t pipe, int id) {
    ascend::isa::cross_wait(ascend::isa::pipe_of(pipe), 1, id, ASCEND_SIM_HERE, ascend::Spelling::scope);
}
ASCEND_SIM_INSTRUCTION void asc_sync_block_arrive(pipe_t pipe, int id) {
    ascend::isa::cross_set(ascend::isa::pipe_of(pipe), 2, id, ASCEND_SIM_HERE, ascend::Spelling::scope);
}
ASCEND_SIM_INSTRUCTION void asc_sync_block_wait(pipe_t pipe, int id) {
    ascend::isa::cross_wait(ascend::isa::pipe_of(pipe), 2, id, ASCEND_SIM_HERE, ascend::Spelling::scope);
}
