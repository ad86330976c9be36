// SPDX-License-Identifier: MIT
// Who performs an instruction, and when? A core: seven in-order pipes, their flags, and the executor that decides.
//
// An instruction function (csrc/isa) checks the chip's rules, fills a Record and calls Core::issue. The executor traces
// it and performs its effect at once if its pipe is free to go on. A pipe that waits for a flag not yet set keeps its
// later records in a queue until the set arrives, in program order or from another core. Work that is not a record
// (scalar code, vector functions, which are plain C++) cannot be kept back: waits of S and V suspend the fiber instead.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "chip/fault.h"
#include "chip/fiber.h"
#include "chip/memory.h"
#include "chip/trace.h"

namespace ascend {

class Core;
class AiCore;
class Launch;
class RaceCheck;
struct Frames;

using Effect = void (*)(Core&, const Record&);
using Ready = bool (*)(Core&, const Record&);  // may the instruction begin? (unit flags)

struct OpInfo {
    const char* name = "?";
    Effect effect = nullptr;
    Ready ready = nullptr;
    bool knows_put_off = false;  // deals with AiCore::put_off itself
};

// Gives an instruction its number. Called from static initialisers of csrc/isa: adding an instruction is local to its file.
uint16_t register_op(const char* name, Effect effect, Ready ready = nullptr, bool knows_put_off = false);
const OpInfo& op_info(uint16_t op);
const char* instruction_name(const Record& record);  // as kernel code spells it

// Called after every instruction has been performed, on the host thread of its core, if its effects were (not in timing
// mode). For tests and tools: what it does to memories is seen by the instructions behind. Set while nothing runs.
using RecordObserver = void (*)(Core&, const Record&);
void set_record_observer(RecordObserver observer);  // null: none
bool has_record_observer();

// How kernel code wrote a flag between cores; its instruction by name.
struct Written {
    Spelling spelling = Spelling::partner;
    uint8_t mode = 0;
};
const char* written_name(bool sets, Written written);  // not of Spelling::partner

// What a phase of the vector functions since the last record cost; counted inline by csrc/isa.
struct VfCounters {
    uint32_t counts[kVfClasses] = {};
    uint32_t calls = 0;
    uint32_t phase = 0;
};

// csrc/isa counts vector instructions in thread-local storage; it says here how to take the counts since the last call.
using TakeVfCounters = bool (*)(VfCounters&);
void set_vf_source(TakeVfCounters take);

constexpr int kMaxPendingCross = 15;  // the counters have 4 bits

// Launch-time state of the set/wait flags of one core: [source][destination][id], sets performed but not consumed.
struct FlagState {
    int32_t count[kPipes][kPipes][kFlagIds] = {};
};

class Core {
public:
    Core(AiCore& ai_core, CoreKind kind) : ai(ai_core), kind(kind) {}

    AiCore& ai;
    const CoreKind kind;
    int block = 0;      // block_idx as the kernel sees it
    Fiber fiber;
    CoreTrace* trace = nullptr;  // null: functional mode
    uint64_t registers[16] = {};  // mode registers, meaning given by csrc/isa; zero at the start of a block
    uint64_t fix_registers[8] = {};  // the same, but written in the order of FIX's instructions
    struct GmRange {
        uint64_t begin = 0, end = 0;
    } gm_ranges[4];              // live allocations seen last: the check of most transfers ends here
    std::string printed_last;    // by the kernel, since the block began: for messages
    const char* ub_name = nullptr;  // what the text calls its memory in UB, for messages; of the text, which is never unloaded

    void issue(Record& record, const void* return_address);
    // Vector functions leave counts behind instead of records; this turns them into one instruction, a record a phase.
    void flush_pending_vector_work();
    // Lays by what was counted since the last phase; a phase that comes again goes on.
    void end_vector_phase();
    void set_flag(Pipe source, Pipe destination, int id, const void* pc);
    void wait_flag(Pipe source, Pipe destination, int id, const void* pc);
    void lock(Pipe pipe, int id, const void* pc);
    void unlock(Pipe pipe, int id, const void* pc);
    void barrier(Pipe pipe, const void* pc);
    void cross_set(Pipe pipe, uint8_t targets, const uint8_t target_id[3], Written written, const void* pc);
    void cross_wait(Pipe pipe, int id, Written written, const void* pc);
    void grid_arrive(Pipe pipe, int id, Written written, const void* pc);
    void grid_wait(Pipe pipe, int id, Written written, const void* pc);

    // Suspends the fiber until every record issued so far has been performed.
    void drain_all(const void* pc);

    // Performs what can be performed of `pipe`'s queue; called when something it may wait for has happened.
    void advance(Pipe pipe);
    void advance_all();
    bool has_deferred() const;
    bool waits_for_grid() const;
    // Lines "core 3  aic  MTE1  asc_sync_wait waits for flag ...", one per blocked pipe.
    void describe_waits(std::string& table) const;
    void reset_for_block(int block_index, bool runs);  // runs: a fiber will, on this core

    [[noreturn]] void fail(const Record& record, const std::string& what) const;
    // `stack`: where the code of `pc` is on, if not the running one.
    [[noreturn]] void fail(const char* instruction, Pipe pipe, const void* pc, const std::string& what, const Frames* stack = nullptr) const;

private:
    struct PipeState {
        std::deque<Record> deferred;
        bool performing = false;  // its first record: what comes behind must not overtake it
    };

    // MTE2 of the cube core loads when it is asked to: L1 is filled far ahead of its use, for the host's caches too far.
    // Not where races are looked for: they are between what program order puts one behind the other.
    bool is_lazy(Pipe pipe) const;
    void wake(Pipe pipe) {
        if (!is_lazy(pipe)) advance(pipe);
    }
    bool perform_first(PipeState& pipe, const Record& record);
    void advance_for(Pipe pipe, const int32_t& count);
    bool perform(const Record& record);
    bool perform_sync(const Record& record);
    void append(Record& record, const void* pc);
    void issue_in_order(Record& record, const void* pc);
    void suspend_until_idle(Pipe pipe);
    [[noreturn]] void throw_error(const char* instruction, Pipe pipe, uint64_t pc, const Frames* stack, const std::string& what) const;
    std::string where() const;
    std::string describe(const Record& record) const;
    std::string name_of_cross(int id) const;
    bool will_wait(int pipe, uint16_t op, int from, int id) const;
    std::string unclaimed_flags(int from, int to, int id) const;
    std::string unclaimed_cross() const;

    PipeState pipes_[kPipes];
    FlagState flags_;
    int32_t flag_sets_[kPipes][kPipes][kFlagIds] = {};      // performed since the block began, for messages
    int32_t flag_waits_[kPipes][kPipes][kFlagIds] = {};
    int32_t cross_[kCrossIds] = {};
    int32_t cross_sets_[kCrossIds] = {};
    uint32_t unlocks_issued_[kLockIds] = {};
    uint32_t unlocks_done_[kLockIds] = {};
    uint32_t grid_arrivals_[kCrossIds] = {};
    uint32_t grid_waits_[kCrossIds] = {};
    struct SiteCache {
        uint64_t pc = 0;
        uint32_t id = 0;
    } site_cache_[64];
    std::vector<VfCounters> vector_phases_;  // of the vector functions since the last record, each once
    uint32_t issued_ = 0;
    bool is_clean_ = false;   // nothing has changed since the last reset
    bool has_synced_ = true;  // the counters of flags and locks may not be zero
};

// A store with a read-modify-write to global memory, kept back so that its order does not depend on host threads.
struct PendingAtomic {
    void (*apply)(uint8_t* gm, const uint8_t* data, uint32_t bytes);
    uint8_t* gm;
    uint32_t bytes;
    uint64_t data_offset;
};

// Work that instructions have put off, and data that they keep in a form of their own (csrc/isa/cube_queue.h).
struct PutOff {
    bool active = false;  // there is some
    // Before an instruction that does not know of it: what the instruction may look at or write over is put right.
    virtual void settle(const Record& record) = 0;
    virtual void forget() = 0;
    virtual ~PutOff() = default;
};

// What the cube multiplied last that was undefined: for the message of who meets the result.
struct UndefinedFactor {
    const char* what = nullptr;  // null: nothing since the block began
    const char* memory = nullptr;
    uint32_t address = 0, site = 0;
    uint16_t op = 0;
};

// Of each fractal of L0A or L0B that was transposed from L1 with its last rows missing there: bytes of every row, from the first
// element of k, that are defined. Its granules count as undefined. Of other fractals it means nothing while they are defined, else 0.
struct PartsOfK {
    uint8_t bytes[kL0aBytes / kFractalBytes] = {};
    uint8_t& of(uint32_t address) { return bytes[address / kFractalBytes]; }
    uint8_t of(uint32_t address) const { return bytes[address / kFractalBytes]; }
};
static_assert(kL0aBytes == kL0bBytes);

// What went from UB to L1 last that was undefined, under the memory check: for the same messages.
struct UndefinedTransfer {
    const char* memory = nullptr;  // null: nothing since the block began
    uint32_t address = 0, site = 0;
    const void* read_at = nullptr;  // where the vector core had read undefined bytes last
};

// One AI core: a cube core, two vector cores, their memories.
class AiCore {
public:
    AiCore();
    ~AiCore();
    int index = 0;          // position on the chip
    Launch* launch = nullptr;

    MemoryBlock block;
    Memory l1{"L1", kL1Bytes, block};
    Memory l0a{"L0A", kL0aBytes, block};
    Memory l0b{"L0B", kL0bBytes, block};
    Memory l0c{"L0C", kL0cBytes, block};
    Memory l0a_mx{"L0A_MX", kL0MxBytes, block};
    Memory l0b_mx{"L0B_MX", kL0MxBytes, block};
    Memory bt{"BT", kBtBytes, block};
    Memory fb{"FB", kFbBytes, block};
    Memory ub[2] = {{"UB0", kUbBytes}, {"UB1", kUbBytes}};
    UnitFlags unit_flags;
    PartsOfK l0a_parts, l0b_parts;
    UndefinedFactor undefined_factor;
    UndefinedTransfer undefined_transfer;
    uint64_t loads_performed = 0;     // instructions of MTE1: what L0A and L0B hold is the same while it is
    std::unique_ptr<PutOff> put_off;  // null: nothing ever was
    std::unique_ptr<RaceCheck> races; // null: not looked for (chip/races.h)
    Core aic{*this, CoreKind::aic}, aiv0{*this, CoreKind::aiv0}, aiv1{*this, CoreKind::aiv1};
    Core* cores[3] = {&aic, &aiv0, &aiv1};

    // Atomic stores of the running block since the last grid-wide arrival.
    std::vector<PendingAtomic> atomics;
    std::vector<uint8_t> atomic_data;

    uint64_t progress = 0;  // records performed and fibers ended; a round without any is a deadlock

    Memory& ub_of(const Core& core) { return ub[core.kind == CoreKind::aiv1 ? 1 : 0]; }
    void reset_for_block();
};

// The core whose instruction stream this host thread is running; null outside kernels.
[[gnu::visibility("default")]] extern thread_local Core* running_core [[gnu::tls_model("initial-exec")]];

}  // namespace ascend
