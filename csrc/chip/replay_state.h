// SPDX-License-Identifier: MIT
// What does the replay remember of each core between two instructions? Queues, flags, locks, and how far it has come.
#pragma once

#include <memory>
#include <vector>

#include "chip/replay.h"
#include "chip/unit_window.h"

namespace ascend::replaying {

constexpr uint32_t kMaxDepth = 64;         // of a pipe's queue
constexpr uint32_t kMaxRequests = 16;      // instructions under way, see PathSpec
constexpr int kKinds = 3;

constexpr int index_of(Pipe pipe) { return static_cast<int>(pipe); }

// Sets not yet consumed, oldest first, and when the last one was.
struct Flag {
    struct Set {
        double at;
        uint32_t record;
    };
    std::vector<Set> sets;
    size_t head = 0;
    double consumed_at = 0;
    bool empty() const { return head == sets.size(); }
    void push(double at, uint32_t record) {
        if (head == sets.size()) sets.clear(), head = 0;
        sets.push_back({at, record});
    }
};

struct Lock {
    uint32_t issued = 0, done = 0;         // unlocks: in program order, and with a time
    double free_at = 0;
};

struct PipeState {
    double free_at = 0;                    // the next instruction may begin
    double done_at = 0;                    // everything before is visible
    uint32_t issued = 0, started = 0;      // instructions
    bool in_flight = false;                // the last one started is a transfer without an end
    uint32_t requests = 0;
    // Of the transfer in flight.
    uint32_t record = 0;
    double began_at = 0, least_end = 0;
    PipeState() {}                         // leaves the rings below as they are: clearing them took a third of a small launch

    struct Waiting {
        double issued_at;
        uint32_t record, unlocks;
    };
    double started_at[kMaxDepth];
    Waiting queue[kMaxDepth];
    double request_ends[kMaxRequests];
};

// The instruction stream of one core.
struct Stream {
    const CoreTrace* trace = nullptr;
    uint32_t id = 0, size = 0, cursor = 0, block_end = 0;
    size_t next_block = 0;
    double time = 0;                       // of S
    uint32_t dirty = 0;                    // pipes that may be able to go on
    bool queued = false;                   // on the work list
    PipeState pipes[kPipes];
    std::unique_ptr<Flag[]> flags[kPipes][kPipes];
    std::vector<double> cross[kCrossIds];  // times of sets, ascending
    uint32_t cross_waiters[kCrossIds] = {};
    Lock locks[kLockIds];
    UnitWindow units;
    CoreUse* use = nullptr;
    std::vector<RecordTime>* times = nullptr;
    Stream() {}                            // as of PipeState

    Flag& flag(Pipe source, Pipe destination, int flag_id) {
        auto& row = flags[index_of(source)][index_of(destination)];
        if (!row) row = std::make_unique<Flag[]>(kFlagIds);
        return row[flag_id % kFlagIds];
    }
    bool at_block_end() const { return cursor == block_end; }
    bool drained() const {
        for (const PipeState& pipe : pipes)
            if (pipe.started != pipe.issued || pipe.in_flight) return false;
        return true;
    }
};

struct GridBarrier {
    uint32_t arrived = 0;
    double at = 0;
    std::vector<uint32_t> waiting;         // streams
};

}  // namespace ascend::replaying
