// SPDX-License-Identifier: MIT
// When does an instruction take effect? At once, unless its pipe waits: then after the flag it waits for.
#include "chip/core.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "chip/launch.h"
#include "chip/races.h"
#include "chip/source_line.h"

namespace ascend {

thread_local Core* running_core = nullptr;

namespace {

std::array<OpInfo, 512>& op_table() {
    static std::array<OpInfo, 512> table = [] {
        std::array<OpInfo, 512> named;
        named[op_set_flag].name = "asc_sync_notify";
        named[op_wait_flag].name = "asc_sync_wait";
        named[op_lock].name = "asc_lock";
        named[op_unlock].name = "asc_unlock";
        named[op_barrier].name = "asc_sync_pipe";
        named[op_cross_set].name = "asc_sync_intra_arrive";
        named[op_cross_wait].name = "asc_sync_intra_wait";
        named[op_grid_arrive].name = "asc_sync_inter_arrive";
        named[op_grid_wait].name = "asc_sync_inter_wait";
        return named;
    }();
    return table;
}

constexpr int index_of(Pipe pipe) { return static_cast<int>(pipe); }
// S and V execute host code, which cannot be queued.
constexpr bool runs_in_fiber(Pipe pipe) { return pipe == Pipe::S || pipe == Pipe::V; }

}  // namespace

const char* pipe_name(Pipe pipe) {
    static const char* const names[] = {"S", "M", "V", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    return names[index_of(pipe)];
}

const char* core_kind_name(CoreKind kind) {
    static const char* const names[] = {"aic", "aiv0", "aiv1"};
    return names[static_cast<int>(kind)];
}

uint16_t register_op(const char* name, Effect effect, Ready ready, bool knows_put_off) {
    static std::mutex mutex;
    static uint16_t next = kFirstInstruction;
    std::lock_guard lock(mutex);
    op_table()[next] = {name, effect, ready, knows_put_off};
    return next++;
}

const OpInfo& op_info(uint16_t op) { return op_table()[op]; }

const char* written_name(bool sets, Written written) {
    if (written.spelling == Spelling::cross_mode) return sets ? "asc_sync_cross_set" : "asc_sync_cross_wait";
    if (written.mode == 1) return sets ? "asc_sync_subblock_arrive" : "asc_sync_subblock_wait";
    return sets ? "asc_sync_block_arrive" : "asc_sync_block_wait";
}

const char* instruction_name(const Record& record) {
    if (record.path == Path::sync && record.op >= op_cross_set && record.op <= op_grid_wait && record.sync.spelling != Spelling::partner)
        return written_name(record.op == op_cross_set || record.op == op_grid_arrive, {record.sync.spelling, record.sync.mode});
    if (record.path == Path::sync && record.op == op_barrier && record.sync.other == Pipe::all) return "asc_sync";
    return op_table()[record.op].name;
}

namespace {
std::atomic<RecordObserver> record_observer{nullptr};
}

void set_record_observer(RecordObserver observer) { record_observer = observer; }
bool has_record_observer() { return record_observer.load(std::memory_order_relaxed) != nullptr; }

bool Core::is_lazy(Pipe pipe) const { return kind == CoreKind::aic && pipe == Pipe::MTE2 && !ai.races; }

// ---- issue ----------------------------------------------------------------------------------------------------------

namespace {
TakeVfCounters take_vf_counters = nullptr;
}

void set_vf_source(TakeVfCounters take) { take_vf_counters = take; }

void Core::end_vector_phase() {
    VfCounters ended;
    if (!take_vf_counters || !take_vf_counters(ended) || !trace) return;
    for (VfCounters& known : vector_phases_) {
        if (known.phase != ended.phase) continue;
        for (int i = 0; i < kVfClasses; ++i) known.counts[i] += ended.counts[i];
        known.calls += ended.calls;
        return;
    }
    vector_phases_.push_back(ended);
}

void Core::flush_pending_vector_work() {
    end_vector_phase();
    if (vector_phases_.empty()) return;
    static const uint16_t op = register_op("vector function", [](Core&, const Record&) {});
    Record record{};
    record.op = op;
    record.pipe = Pipe::V;
    record.path = Path::vector;
    uint32_t calls = 0;
    for (const VfCounters& phase : vector_phases_) calls += phase.calls;
    record.vf.calls = std::max(calls, 1u);
    for (const VfCounters& phase : vector_phases_) {
        for (int i = 0; i < kVfClasses; ++i) record.vf.counts[i] = phase.counts[i];
        trace->append() = record;
        record.vf.calls = 0;
    }
    vector_phases_.clear();
}

void Core::append(Record& record, const void* pc) {
    if (kind != CoreKind::aic) flush_pending_vector_work();
    const auto address = reinterpret_cast<uint64_t>(pc);
    SiteCache& cached = site_cache_[(address ^ address >> 7) % 64];
    if (cached.pc != address) cached = {address, ai.launch->site_of(address)};
    record.site = cached.id;
    has_synced_ |= record.path == Path::sync;
    if (trace) trace->append() = record;
    if ((++issued_ & 0xffff) == 0)
        if (const std::string reason = ai.launch->reason_to_end(); !reason.empty()) fail(record, reason);
}

void Core::issue(Record& record, const void* pc) {
    append(record, pc);
    if (ai.races) [[unlikely]] ai.races->issued(*this, record);
    PipeState& pipe = pipes_[index_of(record.pipe)];
    if (is_lazy(record.pipe) || !pipe.deferred.empty() || pipe.performing || !perform_first(pipe, record))
        pipe.deferred.push_back(record);
}

bool Core::perform_first(PipeState& pipe, const Record& record) {
    pipe.performing = true;
    struct Done {
        bool& performing;
        ~Done() { performing = false; }
    } done{pipe.performing};
    return perform(record);
}

// For S and V: the fiber itself waits.
void Core::issue_in_order(Record& record, const void* pc) {
    append(record, pc);
    if (ai.races) [[unlikely]] ai.races->issued(*this, record);
    PipeState& pipe = pipes_[index_of(record.pipe)];
    pipe.deferred.push_back(record);
    advance(record.pipe);
    suspend_until_idle(record.pipe);
}

void Core::suspend_until_idle(Pipe pipe) {
    while (!pipes_[index_of(pipe)].deferred.empty()) {
        running_core = nullptr;
        fiber.yield();
        running_core = this;
        advance(pipe);
    }
}

void Core::drain_all(const void*) {
    advance_all();
    for (int pipe = 0; pipe < kPipes; ++pipe) suspend_until_idle(static_cast<Pipe>(pipe));
}

void Core::advance(Pipe which) {
    PipeState& pipe = pipes_[index_of(which)];
    while (!pipe.deferred.empty() && !pipe.performing) {
        const Record record = pipe.deferred.front();  // a copy: performing it can lead to an issue on this pipe
        if (!perform_first(pipe, record)) return;
        pipe.deferred.pop_front();
    }
}

// Until `count`, of a flag that the pipe sets, is not 0 or the pipe waits itself.
void Core::advance_for(Pipe which, const int32_t& count) {
    PipeState& pipe = pipes_[index_of(which)];
    while (count == 0 && !pipe.deferred.empty() && !pipe.performing) {
        const Record record = pipe.deferred.front();
        if (!perform_first(pipe, record)) return;
        pipe.deferred.pop_front();
    }
}

void Core::advance_all() {
    for (int pipe = 0; pipe < kPipes; ++pipe) advance(static_cast<Pipe>(pipe));
}

bool Core::has_deferred() const {
    for (const PipeState& pipe : pipes_)
        if (!pipe.deferred.empty()) return true;
    return false;
}

bool Core::waits_for_grid() const {
    for (const PipeState& pipe : pipes_)
        if (!pipe.deferred.empty() && pipe.deferred.front().op == op_grid_wait &&
            pipe.deferred.front().path == Path::sync)
            return true;
    return false;
}

bool Core::perform(const Record& record) {
    if (record.path == Path::sync) {
        const bool releases = ai.races && RaceCheck::releases(record);
        if (releases) [[unlikely]] ai.races->performs(*this, record);
        if (!perform_sync(record)) return false;
        if (ai.races && !releases) [[unlikely]] ai.races->performs(*this, record);
    } else {
        const OpInfo& info = op_table()[record.op];
        if (!ai.launch->skips_effects()) {
            if (info.ready && !info.ready(*this, record)) return false;
            if (ai.races) [[unlikely]] ai.races->performs(*this, record);
            if (ai.put_off && ai.put_off->active && !info.knows_put_off) ai.put_off->settle(record);
            ai.loads_performed += record.pipe == Pipe::MTE1;
            info.effect(*this, record);
            if (const RecordObserver observer = record_observer.load(std::memory_order_relaxed)) [[unlikely]]
                observer(*this, record);
        }
    }
    ++ai.progress;
    return true;
}

bool Core::perform_sync(const Record& record) {
    const SyncPayload& sync = record.sync;
    switch (record.op) {
        case op_set_flag: {
            ++flags_.count[index_of(record.pipe)][index_of(sync.other)][sync.id];
            ++flag_sets_[index_of(record.pipe)][index_of(sync.other)][sync.id];
            ++ai.progress;
            if (!runs_in_fiber(sync.other) && sync.other != record.pipe) wake(sync.other);
            return true;
        }
        case op_wait_flag: {
            int32_t& count = flags_.count[index_of(sync.other)][index_of(record.pipe)][sync.id];
            if (count == 0 && is_lazy(sync.other)) advance_for(sync.other, count);
            if (count == 0) return false;
            --count;
            ++flag_waits_[index_of(sync.other)][index_of(record.pipe)][sync.id];
            return true;
        }
        case op_unlock:
            ++unlocks_done_[sync.id];
            ++ai.progress;
            for (int pipe = 0; pipe < kPipes; ++pipe)
                if (!runs_in_fiber(static_cast<Pipe>(pipe)) && static_cast<Pipe>(pipe) != record.pipe)
                    wake(static_cast<Pipe>(pipe));
            return true;
        case op_lock:
            return unlocks_done_[sync.id] >= sync.generation;
        case op_cross_set:
            for (int target = 0; target < 3; ++target) {
                if (!(sync.targets >> target & 1)) continue;
                Core& other = *ai.cores[target];
                const int id = sync.target_id[target];
                if (++other.cross_[id] > kMaxPendingCross)
                    fail(record, format("cross-core flag %d: %s has not consumed %d sets; its counter has 4 bits, at most "
                                        "%d may be pending", id % 16, core_kind_name(other.kind), other.cross_[id], kMaxPendingCross));
                ++other.cross_sets_[id];
                other.has_synced_ = true;
                other.is_clean_ = false;
                ++ai.progress;
                for (int pipe = 0; pipe < kPipes; ++pipe)
                    if (!runs_in_fiber(static_cast<Pipe>(pipe))) {
                        if (&other == this && static_cast<Pipe>(pipe) == record.pipe) continue;
                        other.wake(static_cast<Pipe>(pipe));
                    }
            }
            return true;
        case op_cross_wait:
            if (cross_[sync.id] == 0) return false;
            --cross_[sync.id];
            return true;
        case op_grid_arrive:
            ai.launch->arrive(*this, sync.id);
            return true;
        case op_grid_wait:
            return ai.launch->all_arrived(*this, sync.id, sync.generation);
        default:  // op_barrier: pipes are in order, and PIPE_ALL drained in the fiber
            return true;
    }
}

// ---- synchronisation instructions -----------------------------------------------------------------------------------

namespace {
Record sync_record(uint16_t op, Pipe pipe) {
    Record record{};
    record.op = op;
    record.pipe = pipe;
    record.path = Path::sync;
    return record;
}
}  // namespace

void Core::set_flag(Pipe source, Pipe destination, int id, const void* pc) {
    Record record = sync_record(op_set_flag, source);
    record.sync.other = destination;
    record.sync.id = static_cast<uint8_t>(id);
    issue(record, pc);
}

void Core::wait_flag(Pipe source, Pipe destination, int id, const void* pc) {
    Record record = sync_record(op_wait_flag, destination);
    record.sync.other = source;
    record.sync.id = static_cast<uint8_t>(id);
    runs_in_fiber(destination) ? issue_in_order(record, pc) : issue(record, pc);
}

void Core::lock(Pipe pipe, int id, const void* pc) {
    Record record = sync_record(op_lock, pipe);
    record.sync.id = static_cast<uint8_t>(id);
    record.sync.generation = unlocks_issued_[id];
    runs_in_fiber(pipe) ? issue_in_order(record, pc) : issue(record, pc);
}

void Core::unlock(Pipe pipe, int id, const void* pc) {
    Record record = sync_record(op_unlock, pipe);
    record.sync.id = static_cast<uint8_t>(id);
    ++unlocks_issued_[id];
    issue(record, pc);
}

void Core::barrier(Pipe pipe, const void* pc) {
    Record record = sync_record(op_barrier, pipe);
    record.sync.other = pipe;
    if (pipe == Pipe::all) {
        append(record, pc);
        drain_all(pc);
        if (ai.races) [[unlikely]] ai.races->all_pipes_drained(*this);
    } else {
        runs_in_fiber(pipe) ? issue_in_order(record, pc) : issue(record, pc);
    }
}

void Core::cross_set(Pipe pipe, uint8_t targets, const uint8_t target_id[3], Written written, const void* pc) {
    Record record = sync_record(op_cross_set, pipe);
    record.sync.spelling = written.spelling;
    record.sync.mode = written.mode;
    record.sync.targets = targets;
    for (int i = 0; i < 3; ++i) record.sync.target_id[i] = target_id[i];
    issue(record, pc);
}

void Core::cross_wait(Pipe pipe, int id, Written written, const void* pc) {
    Record record = sync_record(op_cross_wait, pipe);
    record.sync.spelling = written.spelling;
    record.sync.mode = written.mode;
    record.sync.id = static_cast<uint8_t>(id);
    runs_in_fiber(pipe) ? issue_in_order(record, pc) : issue(record, pc);
}

void Core::grid_arrive(Pipe pipe, int id, Written written, const void* pc) {
    Record record = sync_record(op_grid_arrive, pipe);
    record.sync.spelling = written.spelling;
    record.sync.mode = written.mode;
    record.sync.id = static_cast<uint8_t>(id);
    record.sync.generation = grid_arrivals_[id]++;
    if (ai.launch->runs_in_waves())
        fail(instruction_name(record), pipe, pc,
             format("grid-wide barrier %d needs all blocks alive at once; the grid has %d blocks, the chip runs %d at a "
                    "time. Launch at most that many and loop over the work inside the kernel",
                    id, ai.launch->blocks(), ai.launch->resident_blocks()));
    issue(record, pc);
}

void Core::grid_wait(Pipe pipe, int id, Written written, const void* pc) {
    Record record = sync_record(op_grid_wait, pipe);
    record.sync.spelling = written.spelling;
    record.sync.mode = written.mode;
    record.sync.id = static_cast<uint8_t>(id);
    record.sync.generation = grid_waits_[id]++;
    runs_in_fiber(pipe) ? issue_in_order(record, pc) : issue(record, pc);
}

// ---- messages -------------------------------------------------------------------------------------------------------

std::string Core::where() const {
    return format("core %d %s block %d", ai.index, core_kind_name(kind), block);
}

// The cube has a counter for each id of each vector core.
std::string Core::name_of_cross(int id) const {
    return kind == CoreKind::aic ? format("cross-core flag %d of aiv%d (counter %d)", id % 16, id / 16, id) : format("cross-core flag %d", id);
}

bool Core::will_wait(int pipe, uint16_t op, int from, int id) const {
    return std::any_of(pipes_[pipe].deferred.begin(), pipes_[pipe].deferred.end(), [&](const Record& queued) {
        return queued.path == Path::sync && queued.op == op && queued.sync.id == id && (op != op_wait_flag || index_of(queued.sync.other) == from);
    });
}

// For a wait that nothing satisfies: flags that are set, that no instruction in a queue waits for, and that differ from its flag in one pipe or the id.
std::string Core::unclaimed_flags(int from, int to, int id) const {
    std::string names;
    for (int f = 0; f < kPipes; ++f)
        for (int t = 0; t < kPipes; ++t)
            for (int i = 0; i < kFlagIds; ++i) {
                const bool is_near = (f == from) + (t == to) + (i == id) == 2;
                if (is_near && flag_sets_[f][t][i] > flag_waits_[f][t][i] && !will_wait(t, op_wait_flag, f, i))
                    names += format("%s%s->%s id %d", names.empty() ? "" : ", ", pipe_name(static_cast<Pipe>(f)), pipe_name(static_cast<Pipe>(t)), i);
            }
    return names.empty() ? "" : "; set and not waited for so far: " + names;
}

std::string Core::unclaimed_cross() const {
    std::string names;
    for (int id = 0; id < kCrossIds; ++id) {
        bool is_wanted = cross_[id] == 0;
        for (int pipe = 0; pipe < kPipes; ++pipe) is_wanted |= will_wait(pipe, op_cross_wait, 0, id);
        if (!is_wanted) names += (names.empty() ? "" : ", ") + name_of_cross(id);
    }
    return names.empty() ? "" : "; set and not waited for so far: " + names;
}

std::string Core::describe(const Record& record) const {
    const SyncPayload& sync = record.sync;
    if (record.path == Path::cube)
        return format("the unit flags of L0C address 0x%x, %dx%d results: an earlier one is not drained by FIX with unit "
                      "flag 3", record.mmad.l0c, record.mmad.m, record.mmad.n);
    if (record.path != Path::sync)
        return format("the unit flags of L0C address 0x%x, %dx%d results: no MMAD with unit flag 3 has written all of "
                      "them", record.fix.l0c, record.fix.m, record.fix.n);
    switch (record.op) {
        case op_wait_flag: {
            const int from = index_of(sync.other), to = index_of(record.pipe);
            const int sets = flag_sets_[from][to][sync.id];
            std::string text = format("flag %s->%s id %d: ", pipe_name(sync.other), pipe_name(record.pipe), sync.id);
            for (const Record& queued : pipes_[from].deferred)
                if (queued.path == Path::sync && queued.op == op_set_flag && queued.sync.other == record.pipe &&
                    queued.sync.id == sync.id)
                    return text + format("its set is queued behind what %s waits for", pipe_name(sync.other));
            return text + (sets ? format("set %d, consumed %d", sets, flag_waits_[from][to][sync.id]) : "never set") +
                   unclaimed_flags(from, to, sync.id);
        }
        case op_cross_wait: {
            const int sets = cross_sets_[sync.id];
            for (const Core* other : ai.cores)
                for (int pipe = 0; pipe < kPipes; ++pipe)
                    for (const Record& queued : other->pipes_[pipe].deferred)
                        if (queued.path == Path::sync && queued.op == op_cross_set && queued.sync.targets >> static_cast<int>(kind) & 1 &&
                            queued.sync.target_id[static_cast<int>(kind)] == sync.id)
                            return name_of_cross(sync.id) + format(": its set is queued behind what %s of %s waits for", pipe_name(static_cast<Pipe>(pipe)),
                                                                   core_kind_name(other->kind));
            return name_of_cross(sync.id) + (sets ? format(": set %d, all consumed", sets) : ": never set") + unclaimed_cross();
        }
        case op_lock:
            return format("lock id %d: %u of %u earlier unlocks done", sync.id, unlocks_done_[sync.id],
                          sync.generation);
        case op_grid_wait:
            return format("grid-wide barrier %d: %s", sync.id, ai.launch->describe_arrivals(*this, sync.id).c_str());
        default:
            return op_table()[record.op].name;
    }
}

void Core::describe_waits(std::string& table) const {
    for (int pipe = 0; pipe < kPipes; ++pipe) {
        if (pipes_[pipe].deferred.empty()) continue;
        const Record& record = pipes_[pipe].deferred.front();
        table += format("\n  core %d  %s  block %d  %s  %s waits for %s     %s", ai.index, core_kind_name(kind), block,
                        pipe_name(static_cast<Pipe>(pipe)), instruction_name(record), describe(record).c_str(),
                        source_line(ai.launch->site_address(record.site)).c_str());
    }
}

void Core::fail(const Record& record, const std::string& what) const {
    // One that is performed as it is issued has the kernel on the stack; of a queued one, others may be there.
    const Frames stack = pipes_[index_of(record.pipe)].deferred.empty() ? Frames::here() : Frames{};
    throw_error(instruction_name(record), record.pipe, ai.launch->site_address(record.site), &stack, what);
}

void Core::fail(const char* instruction, Pipe pipe, const void* pc, const std::string& what, const Frames* stack) const {
    Frames own;
    if (!stack) own = Frames::here();
    throw_error(instruction, pipe, reinterpret_cast<uint64_t>(pc), stack ? stack : &own, what);
}

void Core::throw_error(const char* instruction, Pipe pipe, uint64_t pc, const Frames* stack, const std::string& what) const {
    throw LaunchError(format("%s: %s %s: %s: %s     %s", ai.launch->title().c_str(), where().c_str(), pipe_name(pipe), instruction,
                             what.c_str(), source_line(pc, stack).c_str()));
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// A launch of little work consists of these: only what was used is cleared.
void Core::reset_for_block(int block_index, bool runs) {
    block = block_index;
    VfCounters left_over;  // of a vector function on this host thread that a fault ended
    if (runs && take_vf_counters) take_vf_counters(left_over);
    vector_phases_.clear();
    const bool was_clean = is_clean_;
    is_clean_ = !runs;
    if (was_clean) return;
    std::memset(registers, 0, sizeof registers);
    std::memset(fix_registers, 0, sizeof fix_registers);
    for (GmRange& range : gm_ranges) range = GmRange{};
    printed_last.clear();
    ub_name = nullptr;
    for (PipeState& pipe : pipes_) pipe.deferred.clear();
    if (issued_)
        for (SiteCache& cached : site_cache_) cached = SiteCache{};
    issued_ = 0;
    if (!has_synced_) return;
    has_synced_ = false;
    flags_ = FlagState{};
    std::memset(flag_sets_, 0, sizeof flag_sets_);
    std::memset(flag_waits_, 0, sizeof flag_waits_);
    std::memset(cross_, 0, sizeof cross_);
    std::memset(cross_sets_, 0, sizeof cross_sets_);
    std::memset(unlocks_issued_, 0, sizeof unlocks_issued_);
    std::memset(unlocks_done_, 0, sizeof unlocks_done_);
    std::memset(grid_arrivals_, 0, sizeof grid_arrivals_);
    std::memset(grid_waits_, 0, sizeof grid_waits_);
}

AiCore::AiCore() = default;
AiCore::~AiCore() = default;

void AiCore::reset_for_block() {
    for (Memory* memory : {&l1, &l0a, &l0b, &l0a_mx, &l0b_mx, &l0c, &bt, &fb, &ub[0], &ub[1]}) memory->valid.clear();
    for (Memory& memory : ub) memory.set_usable_bytes(memory.bytes());
    unit_flags.clear();
    l0a_parts = {};
    l0b_parts = {};
    undefined_factor = {};
    undefined_transfer = {};
    if (put_off) put_off->forget();  // of a block that ended without looking, or in a fault
    if (!RaceCheck::is_on() || launch->skips_effects()) races.reset();
    else if (races) races->new_block();
    else races = std::make_unique<RaceCheck>(*this);
    progress = 0;
}

}  // namespace ascend
