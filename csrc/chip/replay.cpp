// SPDX-License-Identifier: MIT
// Event-driven replay: what depends on flags and queues of a core is computed as far as it is known; only
// transfers to and from global memory, which share bandwidth, are taken one after another in simulated time.
//
// Every rule below is a maximum of times plus something not negative, so a time that is known does not change
// when more becomes known, and what becomes known because a transfer ended at T lies at T or later. Hence
// cores may run ahead of each other, and results depend on neither the order of the loops nor the host. The
// one exception, which of two sets from different cores a wait takes first, only matters to a kernel whose
// outcome is a race.
#include "chip/replay.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

#include "chip/gm_flows.h"
#include "chip/instruction_time.h"
#include "chip/replay_state.h"

namespace ascend {

namespace {

using namespace replaying;

class Replay {
public:
    Replay(const LaunchTrace& trace, const ChipSpec& spec, L2State& l2, const ReplayOptions& options)
        : trace_(trace),
          spec_(spec),
          alone_(spec),
          options_(options),
          flows_(spec, l2, static_cast<uint32_t>(trace.ai_cores.size()) * kPorts),
          streams_(trace.ai_cores.size() * kKinds) {
        l2.set_capacity(spec.l2_capacity_bytes);
        for (int i = 0; i < kPipes; ++i)
            depth_[i] = std::clamp(static_cast<uint32_t>(spec.queue_depth[i]), uint32_t{1}, kMaxDepth);
    }

    ReplayResult run() {
        prepare();
        work();
        while (true) {
            const double begin = begins_.empty() ? kNever : begins_.top().at;
            if (flows_.next_end() <= begin) {
                if (flows_.next_end() == kNever) break;
                const double now = flows_.next_end();
                ended_.clear();
                flows_.finish_next(ended_);
                for (const GmFlows::Ended& flow : ended_) end_transfer(flow, now);
                work();
            } else {
                const Begin next = begins_.top();
                begins_.pop();
                begin_transfer(next);
            }
        }
        return finish();
    }

private:
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    static constexpr uint32_t kPorts = 4;  // of an AI core: into the AIC, out of it, into the AIVs, out of them

    struct Begin {
        double at;
        uint32_t owner;                    // stream * kPipes + pipe
        bool operator>(const Begin& other) const { return at != other.at ? at > other.at : owner > other.owner; }
    };

    // ---- beginning and end ------------------------------------------------------------------------------------------

    void prepare() {
        const size_t ai_cores = trace_.ai_cores.size();
        result_.cores.resize(ai_cores);
        if (options_.keep_times) result_.times.resize(ai_cores);
        for (size_t core = 0; core < ai_cores; ++core)
            for (int kind = 0; kind < kKinds; ++kind) {
                Stream& s = streams_[core * kKinds + kind];
                s.trace = &trace_.ai_cores[core].of[kind];
                s.id = static_cast<uint32_t>(core * kKinds + kind);
                s.size = static_cast<uint32_t>(s.trace->size());
                s.use = &result_.cores[core][kind];
                s.use->records = s.size;
                if (options_.keep_times) {
                    result_.times[core][kind].resize(s.size);
                    s.times = &result_.times[core][kind];
                }
                if (s.size) ++participants_[kind == 0 ? 0 : 1];
                s.block_end = block_end(s);
                if (s.size == 0) continue;
                // Blocks are handed out one after another (launch table: 1 and 32 blocks).
                begin_block(s, start_of(core));
                enqueue(s);
            }
    }

    uint32_t block_end(const Stream& s) const {
        const auto& starts = trace_.ai_cores[s.id / kKinds].block_starts;
        return s.next_block < starts.size() ? starts[s.next_block][s.id % kKinds] : s.size;
    }
    double start_of(size_t core) const {
        const double us = spec_.launch_overhead_us(static_cast<int>(core) + 1) - spec_.launch_overhead_us(1);
        return us * 1e-6 * spec_.clock_hz;
    }

    void begin_block(Stream& s, double at) {
        for (PipeState& pipe : s.pipes) {
            pipe.free_at = pipe.done_at = at;
            pipe.issued = pipe.started = pipe.requests = 0;
            pipe.in_flight = false;
        }
        s.time = at;
        s.dirty = 0;
        s.units.clear();
        for (auto& row : s.flags)
            for (auto& flags : row)
                if (flags)
                    for (int i = 0; i < kFlagIds; ++i) flags[i] = Flag{};
        for (auto& sets : s.cross) sets.clear();
        for (Lock& lock : s.locks) lock = Lock{};
    }

    // The blocks of an AI core follow each other when all its cores have finished the one before.
    void next_block(uint32_t core) {
        const auto& starts = trace_.ai_cores[core].block_starts;
        Stream* s = &streams_[core * kKinds];
        if (s->next_block >= starts.size()) return;
        double at = 0;
        for (int kind = 0; kind < kKinds; ++kind) {
            if (!s[kind].at_block_end() || !s[kind].drained()) return;
            at = std::max(at, end_of(s[kind]));
        }
        for (int kind = 0; kind < kKinds; ++kind) report_left_sets(s[kind]);
        for (int kind = 0; kind < kKinds; ++kind) {
            ++s[kind].next_block;
            s[kind].block_end = block_end(s[kind]);
            begin_block(s[kind], at);
            enqueue(s[kind]);
        }
    }

    static double end_of(const Stream& s) {
        double end = s.time;
        for (const PipeState& pipe : s.pipes) end = std::max({end, pipe.free_at, pipe.done_at});
        return end;
    }

    ReplayResult finish() {
        for (Stream& s : streams_) {
            if (s.size == 0) continue;
            const double end = end_of(s);
            s.use->end_cycles = end;
            result_.cycles = std::max(result_.cycles, end);
            bool is_blocked = false;
            for (const PipeState& pipe : s.pipes) {
                if (pipe.started == pipe.issued) continue;
                report(ViolationKind::never_continues, s, pipe.queue[pipe.started % kMaxDepth].record, end, 0);
                is_blocked = true;
            }
            if (!is_blocked) report_left_sets(s);
            if (!is_blocked && s.cursor < s.size) report(ViolationKind::never_continues, s, s.cursor, end, 0);
        }
        // The launch table gives whole durations; its part for the first core's start and for blocks beyond
        // the first wave is paid outside the cores' time.
        const int cores = static_cast<int>(trace_.ai_cores.size());
        const int blocks = std::max(trace_.blocks, 1);
        const double waves_us = spec_.launch_overhead_us(blocks) - spec_.launch_overhead_us(std::min(blocks, cores));
        result_.launch_us = spec_.launch_overhead_us(1) + std::max(0.0, waves_us);
        result_.us = result_.launch_us + result_.cycles / spec_.clock_hz * 1e6;
        result_.l2_bytes = flows_.l2_bytes;
        result_.hbm_read_bytes = flows_.hbm_read_bytes;
        result_.hbm_written_bytes = flows_.hbm_written_bytes;
        return std::move(result_);
    }

    // One set that nothing consumes may be left when a block ends; of two, the second came before the first was consumed.
    void report_left_sets(Stream& s) {
        for (auto& row : s.flags)
            for (auto& flags : row)
                for (int i = 0; flags && i < kFlagIds; ++i) {
                    const Flag& flag = flags[i];
                    const size_t left = flag.sets.size() - flag.head;
                    if (left < 2) continue;
                    const Flag::Set& second = flag.sets[flag.head + 1];
                    report(ViolationKind::flag_left_set, s, second.record, second.at, static_cast<double>(left));
                }
    }

    void report(ViolationKind kind, const Stream& s, uint32_t record, double at, double other) {
        constexpr size_t kEnough = 100;
        if (result_.violations.size() >= kEnough) return;
        result_.violations.push_back({kind, static_cast<int>(s.id / kKinds), static_cast<CoreKind>(s.id % kKinds),
                                      record, at, other});
    }

    // ---- work list --------------------------------------------------------------------------------------------------

    void enqueue(Stream& s) {
        if (s.queued || s.size == 0) return;
        s.queued = true;
        work_.push_back(s.id);
    }

    void work() {
        while (!work_.empty()) {
            Stream& s = streams_[work_.back()];
            work_.pop_back();
            s.queued = false;
            advance(s);
            if (s.at_block_end()) next_block(s.id / kKinds);
        }
    }

    void advance(Stream& s) {
        do {
            while (s.dirty) {
                const int pipe = std::countr_zero(s.dirty);
                s.dirty &= s.dirty - 1;
                advance_pipe(s, pipe);
            }
            advance_scalar(s);
        } while (s.dirty);
    }

    // ---- S: issue in program order ----------------------------------------------------------------------------------

    void advance_scalar(Stream& s) {
        while (s.cursor < s.block_end) {
            const Record& r = (*s.trace)[s.cursor];
            if (r.pipe == Pipe::S) {
                if (!run_scalar(s, r)) return;
                ++s.cursor;
                continue;
            }
            if (r.pipe == Pipe::all) {
                if (s.dirty || !s.drained()) return;
                const double start = s.time + spec_.scalar_issue_cycles;
                s.time = std::max(start, end_of(s));
                s.use->pipe[index_of(Pipe::S)].busy_cycles += spec_.scalar_issue_cycles;
                s.use->pipe[index_of(Pipe::S)].wait_cycles += s.time - start;
                note_times(s, s.cursor++, start, s.time);
                continue;
            }
            const int pipe = index_of(r.pipe);
            PipeState& p = s.pipes[pipe];
            const uint32_t depth = depth_[pipe];
            // A place in the queue is free once the instruction `depth` before has begun.
            if (p.issued - p.started >= depth) return;
            PipeUse& scalar_use = s.use->pipe[index_of(Pipe::S)];
            if (p.issued >= depth && p.started_at[(p.issued - depth) % kMaxDepth] > s.time) {
                scalar_use.wait_cycles += p.started_at[(p.issued - depth) % kMaxDepth] - s.time;
                s.time = p.started_at[(p.issued - depth) % kMaxDepth];
            }
            s.time += spec_.scalar_issue_cycles;
            scalar_use.busy_cycles += spec_.scalar_issue_cycles;
            uint32_t unlocks = 0;
            if (r.path == Path::sync) {
                if (r.op == op_unlock) ++s.locks[r.sync.id % kLockIds].issued;
                if (r.op == op_lock) unlocks = s.locks[r.sync.id % kLockIds].issued;
            }
            const PipeState::Waiting waiting{s.time, s.cursor, unlocks};
            const bool is_head = p.started == p.issued && !p.in_flight;
            p.queue[p.issued++ % kMaxDepth] = waiting;
            ++s.cursor;
            if (r.path == Path::vector)
                while (s.cursor < s.block_end && is_later_phase((*s.trace)[s.cursor])) ++s.cursor;
            if (is_head) perform(s, pipe, r, waiting);
            if (s.dirty) return;
        }
    }

    // Phases of a vector instruction are records behind its own; S issues them as one.
    static bool is_later_phase(const Record& r) { return r.path == Path::vector && r.vf.calls == 0; }

    bool run_scalar(Stream& s, const Record& r) {
        const double start = s.time + spec_.scalar_issue_cycles;
        double end = start;
        PipeUse& use = s.use->pipe[index_of(Pipe::S)];
        if (r.path == Path::sync) {
            const double at = sync_time(s, r, s.cursor, start, start, s.locks[r.sync.id % kLockIds].issued);
            if (at < 0) return false;
            if (r.op == op_unlock) ++s.locks[r.sync.id % kLockIds].issued;
            end = at;
            use.wait_cycles += end - start;
        } else if (r.path == Path::scalar_gm) {
            const PathSpec& path = spec_.of(r.path);
            end = start + path.latency_cycles;
            ++use.instructions;
        }
        use.busy_cycles += spec_.scalar_issue_cycles;
        s.time = end;
        note_times(s, s.cursor, start, end);
        return true;
    }

    // ---- pipes: in order --------------------------------------------------------------------------------------------

    void advance_pipe(Stream& s, int pipe) {
        PipeState& p = s.pipes[pipe];
        while (!p.in_flight && p.started != p.issued) {
            const PipeState::Waiting waiting = p.queue[p.started % kMaxDepth];
            if (!perform(s, pipe, (*s.trace)[waiting.record], waiting)) return;
        }
    }

    static void note_start(PipeState& p, double at) { p.started_at[p.started++ % kMaxDepth] = at; }
    static void note_times(Stream& s, uint32_t record, double start, double end) {
        if (s.times) (*s.times)[record] = {start, end};
    }

    // False: its time depends on something that has none yet.
    bool perform(Stream& s, int pipe, const Record& r, const PipeState::Waiting& waiting) {
        PipeState& p = s.pipes[pipe];
        const double ready = std::max(waiting.issued_at, p.free_at);
        PipeUse& use = s.use->pipe[pipe];
        if (r.path == Path::sync) {
            const double at = sync_time(s, r, waiting.record, ready, std::max(ready, p.done_at), waiting.unlocks);
            if (at < 0) return false;
            const bool waits = r.op == op_wait_flag || r.op == op_lock || r.op == op_cross_wait ||
                               r.op == op_grid_wait || r.op == op_barrier;
            // A set waits for results without holding up what follows it in the pipe.
            const double start = waits ? at : ready;
            use.wait_cycles += start - ready;
            p.free_at = start;
            note_start(p, start);
            note_times(s, waiting.record, waits ? ready : at, at);
            return true;
        }
        switch (r.path) {
            case Path::none: return occupy(s, pipe, r, waiting, ready, 0, 0, 0);
            case Path::cube: return perform_mmad(s, pipe, r, waiting, ready);
            case Path::vector: return perform_vector(s, pipe, waiting, ready);
            case Path::simt: return occupy(s, pipe, r, waiting, ready, alone_.simt(r.simt), 0, 0);
            case Path::l0c_to_ub:
            case Path::l0c_to_ub_dual:
            case Path::l0c_to_l1:
            case Path::l0c_to_gm: return perform_fix(s, pipe, r, waiting, ready);
            case Path::gm_to_l1:
            case Path::gm_to_ub:
            case Path::ub_to_gm: {
                const GmPayload& gm = r.gm;
                (gm.is_write ? result_.gm_written_bytes : result_.gm_read_bytes) += r.amount;
                return request_transfer(s, pipe, r, waiting, ready, 0);
            }
            default: {
                const PathSpec& path = spec_.of(r.path);
                const double cycles = path.issue_cycles + r.amount / path.bytes_per_cycle;
                return occupy(s, pipe, r, waiting, ready, cycles, path.interval_cycles, path.latency_cycles);
            }
        }
    }

    bool occupy(Stream& s, int pipe, const Record&, const PipeState::Waiting& waiting, double start, double cycles,
                double interval, double latency) {
        PipeState& p = s.pipes[pipe];
        const double occupied_until = start + std::max(cycles, interval);
        const double end = start + cycles + latency;
        p.free_at = occupied_until;
        p.done_at = std::max(p.done_at, end);
        PipeUse& use = s.use->pipe[pipe];
        use.busy_cycles += cycles;
        ++use.instructions;
        note_start(p, start);
        note_times(s, waiting.record, start, end);
        return true;
    }

    bool perform_mmad(Stream& s, int pipe, const Record& r, const PipeState::Waiting& waiting, double ready) {
        PipeState& p = s.pipes[pipe];
        const MmadPayload& m = r.mmad;
        const double cycles = alone_.mmad(r);
        double start = ready, end = ready + cycles;
        if (m.unit_flag & 2) {
            const UnitBlocks blocks = blocks_of(m);
            const UnitWindow::Bounds bounds = s.units.before_mmad(blocks, cycles);
            if (!bounds.known) return false;  // until FIX has drained them
            start = std::max(start, bounds.start);
            end = std::max(start + cycles, bounds.end);
            if (s.units.has_drains()) s.units.forget_until(start);
            if (m.unit_flag == 3) {
                s.units.filled(blocks, start + spec_.cube_latency_cycles, end + spec_.cube_latency_cycles);
                s.dirty |= 1u << index_of(Pipe::FIX);
            }
        }
        result_.macs += static_cast<double>(r.amount) * 256 * elements_per_unit(r.type);
        p.free_at = end;
        p.done_at = std::max(p.done_at, end + spec_.cube_latency_cycles);
        PipeUse& use = s.use->pipe[pipe];
        use.busy_cycles += cycles;
        use.wait_cycles += end - cycles - ready;
        ++use.instructions;
        note_start(p, start);
        note_times(s, waiting.record, start, end + spec_.cube_latency_cycles);
        return true;
    }

    bool perform_fix(Stream& s, int pipe, const Record& r, const PipeState::Waiting& waiting, double ready) {
        PipeState& p = s.pipes[pipe];
        const FixPayload& f = r.fix;
        const PathSpec& path = spec_.of(r.path);
        const double cycles = alone_.fix(r);
        double start = ready, least_end = 0;
        if (f.unit_flag & 2) {
            const UnitBlocks blocks = blocks_of(f, r.matrices);
            const UnitWindow::Bounds bounds = s.units.before_fix(blocks, cycles);
            if (!bounds.known) return false;  // until an MMAD has filled them
            start = std::max(start, bounds.start);
            least_end = bounds.end;
            if (f.unit_flag == 3) {
                s.units.drained(blocks, start, std::max(start + cycles, least_end));
                s.dirty |= 1u << index_of(Pipe::M);
            }
        }
        PipeUse& use = s.use->pipe[pipe];
        use.wait_cycles += start - ready;
        if (r.path == Path::l0c_to_gm) {
            result_.gm_written_bytes += r.amount;
            p.least_end = least_end;
            return request_transfer(s, pipe, r, waiting, start, cycles - path.issue_cycles);
        }
        const double end = std::max(start + cycles, least_end);
        p.free_at = std::max(end, start + path.interval_cycles);
        p.done_at = std::max(p.done_at, end + path.latency_cycles);
        use.busy_cycles += end - start;
        ++use.instructions;
        note_start(p, start);
        note_times(s, waiting.record, start, end + path.latency_cycles);
        return true;
    }

    // Phases follow each other. Of the times, the first phase has the start and the last the drain.
    bool perform_vector(Stream& s, int pipe, const PipeState::Waiting& waiting, double ready) {
        const Record& r = (*s.trace)[waiting.record];
        const double first_end = ready + r.vf.calls * spec_.vf_start_cycles + alone_.vector_phase(r.vf);
        double begin = ready, end = first_end;
        uint32_t last = waiting.record;
        while (last + 1 < s.block_end && is_later_phase((*s.trace)[last + 1])) {
            begin = end;
            end += alone_.vector_phase((*s.trace)[++last].vf);
            note_times(s, last, begin, end);
        }
        end += r.vf.calls * spec_.vf_drain_cycles;
        occupy(s, pipe, r, waiting, ready, end - ready, 0, 0);
        if (last != waiting.record) {
            note_times(s, waiting.record, ready, first_end);
            note_times(s, last, begin, end);
        }
        return true;
    }

    // ---- synchronisation --------------------------------------------------------------------------------------------

    // When a synchronisation is satisfied (waits) or takes effect (sets); below 0: not known yet. `ready`:
    // the pipe has reached it; `done`: and everything before it is visible.
    double sync_time(Stream& s, const Record& r, uint32_t record, double ready, double done, uint32_t unlocks) {
        const SyncPayload& sync = r.sync;
        switch (r.op) {
            case op_set_flag: {
                const double at = done + spec_.flag_cycles;
                Flag& flag = s.flag(r.pipe, sync.other, sync.id);
                if (flag.empty() && at < flag.consumed_at)
                    report(ViolationKind::flag_set_twice, s, record, at, flag.consumed_at);
                flag.push(at, record);
                s.dirty |= 1u << index_of(sync.other);
                return at;
            }
            case op_wait_flag: {
                Flag& flag = s.flag(sync.other, r.pipe, sync.id);
                if (flag.empty()) return -1;
                const double at = flag.consumed_at = std::max(ready, flag.sets[flag.head++].at);
                if (!flag.empty() && flag.sets[flag.head].at < at)
                    report(ViolationKind::flag_set_twice, s, flag.sets[flag.head].record, flag.sets[flag.head].at, at);
                return at;
            }
            case op_lock: {
                const Lock& lock = s.locks[sync.id % kLockIds];
                if (lock.done < unlocks) return -1;
                return std::max(ready, lock.free_at);
            }
            case op_unlock: {
                Lock& lock = s.locks[sync.id % kLockIds];
                ++lock.done;
                lock.free_at = std::max(lock.free_at, done);
                s.dirty |= (1u << kPipes) - 1;
                return done;
            }
            case op_barrier: return done;
            case op_cross_set: {
                const double at = done + spec_.cross_flag_cycles;
                for (int kind = 0; kind < kKinds; ++kind)
                    if (sync.targets >> kind & 1)
                        cross_arrive(streams_[s.id / kKinds * kKinds + kind], sync.target_id[kind], at);
                return done;
            }
            case op_cross_wait: {
                auto& sets = s.cross[sync.id % kCrossIds];
                if (sets.empty()) {
                    s.cross_waiters[sync.id % kCrossIds] |= 1u << index_of(r.pipe);
                    return -1;
                }
                const double at = std::max(ready, sets.front());
                sets.erase(sets.begin());
                return at;
            }
            case op_grid_arrive: {
                GridBarrier& barrier = barrier_of(s, sync);
                barrier.at = std::max(barrier.at, done);
                if (++barrier.arrived == participants_[s.id % kKinds == 0 ? 0 : 1]) {
                    for (uint32_t id : barrier.waiting) {
                        streams_[id].dirty |= (1u << kPipes) - 1;
                        enqueue(streams_[id]);
                    }
                    barrier.waiting.clear();
                }
                return done;
            }
            case op_grid_wait: {
                GridBarrier& barrier = barrier_of(s, sync);
                if (barrier.arrived < participants_[s.id % kKinds == 0 ? 0 : 1]) {
                    barrier.waiting.push_back(s.id);
                    return -1;
                }
                return std::max(ready, barrier.at + spec_.grid_barrier_cycles);
            }
            default: return ready;
        }
    }

    void cross_arrive(Stream& target, int id, double at) {
        auto& sets = target.cross[id % kCrossIds];
        sets.insert(std::upper_bound(sets.begin(), sets.end(), at), at);
        target.dirty |= target.cross_waiters[id % kCrossIds];
        target.cross_waiters[id % kCrossIds] = 0;
        enqueue(target);
    }

    GridBarrier& barrier_of(const Stream& s, const SyncPayload& sync) {
        auto& generations = barriers_[s.id % kKinds == 0 ? 0 : 1][sync.id % kCrossIds];
        if (generations.size() <= sync.generation) generations.resize(sync.generation + 1);
        return generations[sync.generation];
    }

    // ---- global memory ----------------------------------------------------------------------------------------------

    bool request_transfer(Stream& s, int pipe, const Record& r, const PipeState::Waiting& waiting, double ready,
                          double least_cycles) {
        PipeState& p = s.pipes[pipe];
        const PathSpec& path = spec_.of(r.path);
        double start = ready;
        const auto requests = std::min(static_cast<uint32_t>(path.requests), kMaxRequests);
        if (requests && p.requests >= requests)
            start = std::max(start, p.request_ends[(p.requests - requests) % kMaxRequests]);
        s.use->pipe[pipe].wait_cycles += start - ready;
        p.in_flight = true;
        p.record = waiting.record;
        p.began_at = start;
        least_cycles_[s.id * kPipes + pipe] = least_cycles;
        note_start(p, start);
        begins_.push({start + path.issue_cycles, s.id * kPipes + static_cast<uint32_t>(pipe)});
        return true;
    }

    void begin_transfer(const Begin& begin) {
        const Stream& s = streams_[begin.owner / kPipes];
        const Record& r = (*s.trace)[s.pipes[begin.owner % kPipes].record];
        GmRequest request;
        request.path = &spec_.of(r.path);
        request.owner = begin.owner;
        request.least_cycles = least_cycles_[begin.owner];
        const uint32_t first_port = s.id / kKinds * kPorts;
        if (r.path == Path::l0c_to_gm) {
            request.gm = r.fix.gm;
            request.outer = std::max<uint32_t>(r.matrices, 1);
            request.is_write = true;
            request.l2_hint = r.fix.l2_hint;
            request.port = first_port + 1;
        } else {
            request.gm = r.gm.gm;
            request.outer = r.gm.outer;
            request.is_write = r.gm.is_write;
            request.l2_hint = r.gm.l2_hint;
            request.port = first_port + (r.path == Path::gm_to_l1 ? 0 : r.path == Path::gm_to_ub ? 2 : 3);
        }
        flows_.begin(begin.at, request);
    }

    void end_transfer(const GmFlows::Ended& flow, double now) {
        Stream& s = streams_[flow.owner / kPipes];
        const int pipe = static_cast<int>(flow.owner % kPipes);
        PipeState& p = s.pipes[pipe];
        const Record& r = (*s.trace)[p.record];
        const PathSpec& path = spec_.of(r.path);
        const double occupied_until = r.path == Path::l0c_to_gm ? std::max(now, p.least_end) : now;
        const double end = occupied_until + path.latency_cycles + (flow.from_hbm ? spec_.hbm_latency_cycles : 0);
        p.free_at = std::max(occupied_until, p.began_at + path.interval_cycles);
        p.done_at = std::max(p.done_at, end);
        if (path.requests) p.request_ends[p.requests++ % kMaxRequests] = end;
        p.in_flight = false;
        PipeUse& use = s.use->pipe[pipe];
        use.busy_cycles += occupied_until - p.began_at;
        ++use.instructions;
        note_times(s, p.record, p.began_at, end);
        s.dirty |= 1u << pipe;
        enqueue(s);
    }

    const LaunchTrace& trace_;
    const ChipSpec& spec_;
    const InstructionTime alone_;
    const ReplayOptions options_;
    GmFlows flows_;
    std::vector<Stream> streams_;
    std::vector<double> least_cycles_ = std::vector<double>(streams_.size() * kPipes);
    std::vector<uint32_t> work_;
    std::priority_queue<Begin, std::vector<Begin>, std::greater<>> begins_;
    std::vector<GmFlows::Ended> ended_;
    std::vector<GridBarrier> barriers_[2][kCrossIds];
    uint32_t participants_[2] = {};
    uint32_t depth_[kPipes];
    ReplayResult result_;
};

}  // namespace

ReplayResult replay(const LaunchTrace& trace, const ChipSpec& spec, L2State& l2, const ReplayOptions& options) {
    return Replay(trace, spec, l2, options).run();
}

}  // namespace ascend
