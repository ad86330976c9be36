// SPDX-License-Identifier: MIT
// Synchronisation: flags between the pipes of a core, locks, barriers, flags between cores (ascend950.md 3.2, 3.3).
#include "isa/sync.h"

#include "isa/instruction.h"

namespace ascend::isa {

namespace {

// Which pipes a kind of core has (ascend950.md 3.1).
bool has_pipe(CoreKind kind, Pipe pipe) {
    const bool cube = kind == CoreKind::aic;
    switch (pipe) {
        case Pipe::M:
        case Pipe::MTE1:
        case Pipe::FIX: return cube;
        case Pipe::V:
        case Pipe::MTE3: return !cube;
        default: return true;
    }
}

// A mixed kernel's text may name a pipe its core lacks (notify MTE1->MTE2 on a vector core): the chip has no such queue.
void check_pipe(const Issue& issue, Pipe pipe) {
    if (!has_pipe(issue.core.kind, pipe)) issue.fail(format("this core has no pipe %s", pipe_name(pipe)));
}

// The cube's ids 0-15 belong to vector core 0 and 16-31 to vector core 1; a vector core n reaches the cube's counter
// id + 16 n and is reached through id modulo 16.
void arrive(const Issue& issue, Pipe pipe, int id, Spelling spelling = Spelling::partner) {
    issue.field("id", id, 0, issue.core.kind == CoreKind::aic ? 31 : 15);
    check_pipe(issue, pipe);
    uint8_t targets = 0, target_id[3] = {};
    switch (issue.core.kind) {
        case CoreKind::aic:
            targets = id < 16 ? 0b010 : 0b100;
            target_id[id < 16 ? 1 : 2] = static_cast<uint8_t>(id % 16);
            break;
        case CoreKind::aiv0:
        case CoreKind::aiv1:
            targets = 0b001;
            target_id[0] = static_cast<uint8_t>(id + (issue.core.kind == CoreKind::aiv1 ? 16 : 0));
            break;
    }
    issue.core.cross_set(pipe, targets, target_id, {spelling, 4}, issue.pc);
}

void await(const Issue& issue, Pipe pipe, int id, Spelling spelling = Spelling::partner) {
    issue.field("id", id, 0, issue.core.kind == CoreKind::aic ? 31 : 15);
    check_pipe(issue, pipe);
    issue.core.cross_wait(pipe, id, {spelling, 4}, issue.pc);
}

}  // namespace

void sync_notify(Pipe source, Pipe destination, int id, const void* pc) {
    const Issue issue{this_core(), "asc_sync_notify", source, pc};
    issue.field("id", id, 0, kFlagIds - 1);
    check_pipe(issue, source);
    check_pipe(issue, destination);
    issue.core.set_flag(source, destination, id, pc);
}

void sync_wait(Pipe source, Pipe destination, int id, const void* pc) {
    const Issue issue{this_core(), "asc_sync_wait", destination, pc};
    issue.field("id", id, 0, kFlagIds - 1);
    check_pipe(issue, source);
    check_pipe(issue, destination);
    issue.core.wait_flag(source, destination, id, pc);
}

void lock(Pipe pipe, int id, const void* pc) {
    const Issue issue{this_core(), "asc_lock", pipe, pc};
    issue.field("id", id, 0, kLockIds - 1);
    check_pipe(issue, pipe);
    issue.core.lock(pipe, id, pc);
}

void unlock(Pipe pipe, int id, const void* pc) {
    const Issue issue{this_core(), "asc_unlock", pipe, pc};
    issue.field("id", id, 0, kLockIds - 1);
    check_pipe(issue, pipe);
    issue.core.unlock(pipe, id, pc);
}

void sync_pipe(Pipe pipe, const void* pc) {
    if (pipe != Pipe::all) check_pipe({this_core(), "asc_sync_pipe", pipe, pc}, pipe);
    this_core().barrier(pipe, pc);
}

void intra_arrive(Pipe pipe, int id, const void* pc) {
    arrive({this_core(), "asc_sync_intra_arrive", pipe, pc}, pipe, id);
}

void intra_wait(Pipe pipe, int id, const void* pc) {
    await({this_core(), "asc_sync_intra_wait", pipe, pc}, pipe, id);
}

void inter_arrive(Pipe pipe, int id, const void* pc) {
    const Issue issue{this_core(), "asc_sync_inter_arrive", pipe, pc};
    issue.field("id", id, 0, 15);
    check_pipe(issue, pipe);
    issue.core.grid_arrive(pipe, id, {}, pc);
}

void inter_wait(Pipe pipe, int id, const void* pc) {
    const Issue issue{this_core(), "asc_sync_inter_wait", pipe, pc};
    issue.field("id", id, 0, 15);
    check_pipe(issue, pipe);
    issue.core.grid_wait(pipe, id, {}, pc);
}

// Mode 2 of the cross-core flags: the cube releases both vector cores at once, and needs both to be released itself.
void cross_set(Pipe pipe, int mode, int id, const void* pc, Spelling spelling) {
    const Written written{spelling, static_cast<uint8_t>(mode)};
    const Issue issue{this_core(), written_name(true, written), pipe, pc};
    issue.field("mode", mode, 0, 4);
    check_pipe(issue, pipe);
    const auto flag = static_cast<uint8_t>(id);
    const bool cube = issue.core.kind == CoreKind::aic;
    issue.field("id", id, 0, cube && mode == 4 ? 31 : 15);
    switch (mode) {
        case 0: issue.core.grid_arrive(pipe, id, written, pc); return;
        case 1: {  // the vector cores of one block
            if (cube) issue.fail("mode 1 joins the vector cores of a block; this is the cube core");
            const uint8_t ids[3] = {0, flag, flag};
            issue.core.cross_set(pipe, 0b110, ids, written, pc);
            return;
        }
        case 2: {
            const uint8_t high = static_cast<uint8_t>(issue.core.kind == CoreKind::aiv1 ? id + 16 : id);
            const uint8_t ids[3] = {high, flag, flag};
            issue.core.cross_set(pipe, cube ? 0b110 : 0b001, ids, written, pc);
            return;
        }
        case 4: arrive(issue, pipe, id, spelling); return;
        default: issue.fail("mode = 3; the modes are 0, 1, 2 and 4");
    }
}

void cross_wait(Pipe pipe, int mode, int id, const void* pc, Spelling spelling) {
    const Written written{spelling, static_cast<uint8_t>(mode)};
    const Issue issue{this_core(), written_name(false, written), pipe, pc};
    issue.field("mode", mode, 0, 4);
    check_pipe(issue, pipe);
    const bool cube = issue.core.kind == CoreKind::aic;
    issue.field("id", id, 0, cube && mode == 4 ? 31 : 15);
    switch (mode) {
        case 0: issue.core.grid_wait(pipe, id, written, pc); return;
        case 1:  // one arrival of each vector core
            issue.core.cross_wait(pipe, id, written, pc);
            issue.core.cross_wait(pipe, id, written, pc);
            return;
        case 2:
            issue.core.cross_wait(pipe, id, written, pc);
            if (cube) issue.core.cross_wait(pipe, id + 16, written, pc);
            return;
        case 4: await(issue, pipe, id, spelling); return;
        default: issue.fail("mode = 3; the modes are 0, 1, 2 and 4");
    }
}

}  // namespace ascend::isa
