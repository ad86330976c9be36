// SPDX-License-Identifier: MIT
// Which SIMT thread runs next, and on which stack? Note "SIMT threads" in simt_launch.h.
#define ASCEND_SIM_MEMORY_CHECK_ITSELF
#include "isa/simt_launch.h"

#include <sys/mman.h>

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "chip/launch.h"
#include "chip/sanitizer.h"
#include "chip/stack_switch.h"
#include "chip/trap.h"
#include "isa/instruction.h"

namespace ascend::isa {

__thread SimtState simt __attribute__((tls_model("initial-exec"), visibility("default")));
__thread uint32_t simt_completed __attribute__((tls_model("initial-exec"), visibility("default")));

namespace {

constexpr size_t kStackBytes = 64 * 1024;   // with the guard page below; the chip gives a thread 1152 bytes
constexpr size_t kPageBytes = 4096;
constexpr uint32_t kMaxWarps = kMaxSimtThreads / kWarpThreads;

// Stacks of one host thread. Neighbours begin at different places in their pages: else all of them would compete for the same
// few lines of the cache.
class Stacks {
public:
    Stacks() {
        void* got = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (got == MAP_FAILED) throw std::bad_alloc();
        base_ = static_cast<char*>(got);
    }
    ~Stacks() { munmap(base_, kBytes); }
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;

    // A stack on which `main` begins when it is switched to.
    void* fresh(uint32_t index, void (*main)(void*)) {
        char* bottom = base_ + index * kStackBytes;
        if (index >= guarded_) {  // where the host allows no more mappings, without
            mprotect(bottom, kPageBytes, PROT_NONE);
            guarded_ = index + 1;
        }
        sanitizer::unpoison(bottom + kPageBytes, kStackBytes - kPageBytes);  // frames of an earlier launch
        return begin_stack(bottom + kStackBytes - index * 11 % 64 * 64, main, nullptr);
    }
    bool owns(const void* p) const { return offset(p) < kStackBytes * kMaxSimtThreads; }
    bool is_guard(const void* p) const { return owns(p) && offset(p) % kStackBytes < kPageBytes; }
    const void* bottom_of(const void* p) const { return base_ + offset(p) / kStackBytes * kStackBytes; }
    // Behind the stacks, so that all that SIMT code uses of the host is one range.
    WarpExchange* exchange() const { return reinterpret_cast<WarpExchange*>(base_ + kStackBytes * kMaxSimtThreads); }
    void range(uint64_t* begin, uint64_t* bytes) const {
        *begin = reinterpret_cast<uint64_t>(base_);
        *bytes = kBytes;
    }

private:
    static constexpr size_t kBytes = kStackBytes * kMaxSimtThreads + (sizeof(WarpExchange) + kPageBytes - 1) / kPageBytes * kPageBytes;
    size_t offset(const void* p) const { return reinterpret_cast<size_t>(p) - reinterpret_cast<size_t>(base_); }
    char* base_ = nullptr;
    uint32_t guarded_ = 0;
};

struct Warp {
    uint32_t ended, ready, in_exchange, at_barrier;  // bits of threads; `ready` to go on where they wait
    uint32_t completed;                              // how many have come to the end of the function
};

// Where a waiting thread waits.
struct Wait {
    void* sp;
    ExchangeRule rule;
    const char* file;
    uint32_t line;

    bool is_at(const Wait& other) const { return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0); }
};

struct Scheduler {
    Core* core = nullptr;
    const void* pc = nullptr;
    SimtLoop loop = nullptr;
    const void* body = nullptr;
    uint32_t threads = 0, warps = 0, warp = 0, begun_warps = 0, ended = 0;
    uint32_t stacks_used = 0, idle_count = 0;
    uint32_t waits = 0;
    // Where the first thread waits that has reached the next barrier, 0: none has; how many wait elsewhere, and one such place.
    uint32_t barrier_line = 0, elsewhere = 0, other_line = 0;
    const char* other_file = nullptr;
    const void* barrier_pc = nullptr;
    bool is_checked = false;             // note "Races" in memory_check.h
    uint32_t epoch = 0;                  // functions and barriers so far, of this host thread
    const void* exchange_pc[kWarpThreads] = {};
    std::exception_ptr error;
    void* core_sp = nullptr;             // of the core's own stack, if no thread of ours is on it
    void** core_position = nullptr;      // where its position is kept, while another one runs
    Stacks stacks;
    Warp of_warp[kMaxWarps];
    Wait of_thread[kMaxSimtThreads];
    void* idle[kMaxSimtThreads];         // stacks whose threads have ended, where they stand

    bool is_core_stack() const {
        char here;
        return !stacks.owns(&here);
    }
    Wait& current() { return of_thread[simt.at.linear]; }
    void set_index(uint32_t linear) {
        simt.at = {linear % simt.dim_x, linear / simt.dim_x % simt.dim_y, linear / simt.dim_x / simt.dim_y, linear};
        name_warp();
    }
    uint32_t threads_of(uint32_t w) const { return std::min(kWarpThreads, threads - w * kWarpThreads); }
    uint32_t all_of(uint32_t w) const { return threads_of(w) == 32 ? ~0u : (1u << threads_of(w)) - 1; }

    void begin_warp(uint32_t w) {
        warp = w;
        begun_warps = w + 1;
        of_warp[w] = {};
        simt.next = w * kWarpThreads;
        simt.end = simt.next + threads_of(w);
        simt.has_waited = 0;
    }
    // The threads of this warp that ended while it was a plain loop; the one that runs is not among them.
    void note_waiting() {
        if (simt.has_waited) return;
        simt.has_waited = 1;
        const uint32_t lane = simt.at.linear % kWarpThreads;
        of_warp[warp].ended = lane ? (1u << lane) - 1 : 0;
        ended += lane;
    }

    enum class Kind { begin, resume, none };
    struct Choice {
        Kind kind;
        uint32_t thread;
    };
    Choice choose();
    void run_exchange(Warp& w);
    void open_barrier();
    [[noreturn]] void fail_barrier();
    void set_epoch(uint32_t to);
    void name_warp() {
        if (is_checked) [[unlikely]] memory_check.simt_tag = epoch << 7 | simt.at.linear / kWarpThreads;
    }
    void note_barrier(const char* file, uint32_t line, const void* site);
    void wait_here();
    void check_time();
};

// Scheduler and stacks are several hundred KB: of each host thread that has run SIMT code.
thread_local std::unique_ptr<Scheduler> own_scheduler;
thread_local Scheduler* scheduler [[gnu::tls_model("initial-exec")]] = nullptr;

// Completes one exchange of the warp, of the threads that wait at its first place in the source.
void Scheduler::run_exchange(Warp& w) {
    const uint32_t base = warp * kWarpThreads;
    uint32_t first = static_cast<uint32_t>(__builtin_ctz(w.in_exchange));
    for (uint32_t left = w.in_exchange & (w.in_exchange - 1); left; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
        const Wait &a = of_thread[base + lane], &b = of_thread[base + first];
        if (a.line < b.line) first = lane;
    }
    const Wait& chosen = of_thread[base + first];
    uint32_t group = 0;
    for (uint32_t left = w.in_exchange; left; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
        const Wait& wait = of_thread[base + lane];
        if (wait.rule == chosen.rule && wait.is_at(chosen)) group |= 1u << lane;
    }
    WarpExchange& exchange = *stacks.exchange();
    exchange.undefined = 0;
    chosen.rule(exchange, group);
    // A thread that has gone another way gives nothing; a lane without a thread gives the reader its own value.
    if (exchange.undefined && is_checked) [[unlikely]] {
        for (uint32_t left = exchange.undefined; left; left &= left - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
            if (all_of(warp) >> exchange.argument[lane] & 1) exchange.result[lane] = undefined_value(exchange_pc[lane]);
        }
    }
    ++simt.counts.exchanges;
    w.in_exchange &= ~group;
    w.ready |= group;
}

// What runs next: a thread that has not begun, or one that may go on. None: all have ended.
Scheduler::Choice Scheduler::choose() {
    for (;;) {
        if (simt.next < simt.end) return {Kind::begin, simt.next++};
        Warp& w = of_warp[warp];
        if (!w.ready && w.in_exchange) run_exchange(w);
        if (w.ready) {
            const uint32_t lane = simt.at.linear % kWarpThreads;
            const bool self = simt.at.linear / kWarpThreads == warp && (w.ready >> lane & 1);
            const uint32_t chosen = self ? lane : static_cast<uint32_t>(__builtin_ctz(w.ready));
            w.ready &= ~(1u << chosen);
            return {Kind::resume, warp * kWarpThreads + chosen};
        }
        // This warp is at the barrier, or has ended.
        w.completed += std::exchange(simt_completed, 0u);
        if (begun_warps < warps) {
            begin_warp(begun_warps);
            continue;
        }
        if (ended == threads) return {Kind::none, 0};
        uint32_t next = warp + 1;
        while (next < warps && !of_warp[next].ready) ++next;
        if (next == warps) {  // everybody has arrived
            open_barrier();
            next = 0;
            while (!of_warp[next].ready) ++next;
        }
        warp = next;
        simt.has_waited = 1;
    }
}

void Scheduler::open_barrier() {
    if (elsewhere) [[unlikely]] fail_barrier();
    for (uint32_t i = 0; i < warps; ++i) {
        if (of_warp[i].completed && of_warp[i].at_barrier) [[unlikely]] fail_barrier();
        of_warp[i].ready = of_warp[i].at_barrier;
        of_warp[i].at_barrier = 0;
    }
    barrier_line = 0;
    ++simt.counts.barriers;
    set_epoch(epoch + 1);
}

void Scheduler::fail_barrier() {
    std::string what = format("divergent: %u of %u threads have reached this barrier", threads - ended - elsewhere, threads);
    if (elsewhere) {
        const char* slash = std::strrchr(other_file, '/');
        what += format(", %u %s at %s:%u", elsewhere, elsewhere == 1 ? "waits" : "wait", slash ? slash + 1 : other_file, other_line);
    }
    uint32_t completed = 0;
    for (uint32_t i = 0; i < warps; ++i) completed += of_warp[i].completed;
    if (completed) what += format(", %u %s come to the end of the function without it", completed, completed == 1 ? "has" : "have");
    if (ended > completed) what += format(", %u %s returned before", ended - completed, ended - completed == 1 ? "has" : "have");
    core->fail("asc_syncthreads", Pipe::V, barrier_pc, what);
}

// The first thread at the barrier, or one at another than the first.
void Scheduler::note_barrier(const char* file, uint32_t line, const void* site) {
    if (!barrier_line) {
        barrier_line = line;
        barrier_pc = site;
    } else if (!elsewhere++) {
        other_file = file;
        other_line = line;
    }
}

// Tags of memory are older, or of another host thread's: 0 is none's.
void Scheduler::set_epoch(uint32_t to) {
    epoch = to;
    if (epoch >= 1u << 25) [[unlikely]] {
        epoch = 1;
        forget_simt_accesses();
    }
}

void Scheduler::check_time() {
    if (const std::string reason = core->ai.launch->reason_to_end(); !reason.empty()) core->fail("asc_vf_call", Pipe::V, pc, reason);
}

void stack_main(void*);

void change_stack(Scheduler& s, void** save, void* target) {
    if constexpr (sanitizer::kActive) {
        const bool is_ours = s.stacks.owns(target);
        const void* bottom = is_ours ? s.stacks.bottom_of(target) : s.core->fiber.stack_bottom();
        sanitizer::leave_stack_for(bottom, is_ours ? kStackBytes : Fiber::kStackBytes);
    }
    switch_stack(save, target);
    sanitizer::arrive_on_stack();
}

// Leaves the running stack, whose position goes to *save, for the choice.
void switch_to(Scheduler& s, void** save, Scheduler::Choice choice) {
    if (choice.kind == Scheduler::Kind::resume) {
        change_stack(s, save, s.of_thread[choice.thread].sp);
        return;
    }
    s.set_index(choice.thread);
    void* target;
    if (s.idle_count) {
        target = s.idle[--s.idle_count];
    } else {
        target = s.stacks.fresh(s.stacks_used++, stack_main);
    }
    change_stack(s, save, target);
}

// The core's stack learns of an error of another one here, wherever it waits.
void rethrow_error(Scheduler& s) {
    if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

void Scheduler::wait_here() {
    if ((++waits & 0xffff) == 0) check_time();
    const SimtIndex mine = simt.at;
    const Choice choice = choose();
    if (choice.kind == Kind::resume && choice.thread == mine.linear) return;
    void** position = &of_thread[mine.linear].sp;
    if (is_core_stack()) core_position = position;
    switch_to(*this, position, choice);
    simt.at = mine;
    name_warp();
    rethrow_error(*this);
}

// First function on a stack of ours. An error cannot pass from stack to stack by itself: it is handed to the core's.
void stack_main(void*) {
    sanitizer::arrive_on_stack();
    Scheduler& s = *scheduler;
    try {
        s.loop(s.body);
    } catch (...) {
        s.error = std::current_exception();
    }
    void* nowhere;
    change_stack(s, &nowhere, *s.core_position);
    __builtin_unreachable();
}

bool owns_stack(const void* sp) { return scheduler && simt.is_running && scheduler->stacks.owns(sp); }
bool is_stack_guard(const void* p) { return scheduler && simt.is_running && scheduler->stacks.is_guard(p); }

bool in_thread() { return simt.is_running; }

const bool hooked = (set_trap_context({owns_stack, is_stack_guard, in_thread, simt_thread_name, forget_simt_launch, kStackBytes / 1024}), true);

const uint16_t op_simt = register_op("asc_vf_call", [](Core&, const Record&) {});

struct Running {
    explicit Running(Scheduler& s) : s_(s) { simt.is_running = 1; }
    ~Running() {
        simt.is_running = 0;
        memory_check.simt_tag = 0;
        s_.error = nullptr;
    }
    Scheduler& s_;
};

}  // namespace

// A trap ends the fiber without unwinding.
void forget_simt_launch() {
    if (!simt.is_running) return;
    simt.is_running = 0;
    memory_check.simt_tag = 0;
    scheduler->error = nullptr;
}

bool is_simt_memory(const void* p, uint64_t* begin, uint64_t* bytes) {
    if (!scheduler) return false;
    uint64_t from, size;
    scheduler->stacks.range(&from, &size);
    if (reinterpret_cast<uint64_t>(p) - from >= size) return false;
    *begin = from, *bytes = size;
    return true;
}

std::string simt_thread_name() {
    if (!simt.is_running) return {};
    return format("thread (%u, %u, %u)", simt.at.x, simt.at.y, simt.at.z);
}

void simt_width_fault(int width) {
    running_core->fail("warp exchange", Pipe::V, __builtin_return_address(0),
                       format("width = %d; accepted are 1, 2, 4, 8, 16 and 32 lanes (%s)", width, simt_thread_name().c_str()));
}

void simt_barrier(const char* file, uint32_t line) {
    if (!simt.is_running) [[unlikely]]
        running_core->fail("asc_syncthreads", Pipe::V, __builtin_return_address(0), "called outside a SIMT function");
    Scheduler& s = *scheduler;
    if (s.is_checked && memory_check.pending_bytes) [[unlikely]] settle_pending_store();
    s.note_waiting();
    if (line != s.barrier_line) [[unlikely]] s.note_barrier(file, line, __builtin_return_address(0));
    s.of_warp[s.warp].at_barrier |= 1u << simt.at.linear % kWarpThreads;
    s.wait_here();
}

void simt_exchange(ExchangeRule rule, const char* file, uint32_t line) {
    if (!simt.is_running) [[unlikely]]
        running_core->fail("warp exchange", Pipe::V, __builtin_return_address(0), "called outside a SIMT function");
    Scheduler& s = *scheduler;
    s.note_waiting();
    if (s.is_checked) [[unlikely]] {
        if (memory_check.pending_bytes) settle_pending_store();
        s.exchange_pc[simt.at.linear % kWarpThreads] = __builtin_return_address(0);
    }
    Wait& wait = s.current();
    wait.rule = rule;
    wait.file = file;
    wait.line = line;
    s.of_warp[s.warp].in_exchange |= 1u << simt.at.linear % kWarpThreads;
    s.wait_here();
}

bool simt_thread_ended() {
    Scheduler& s = *scheduler;
    if (simt.has_waited) {
        s.of_warp[s.warp].ended |= 1u << simt.at.linear % kWarpThreads;
        ++s.ended;
    } else if (simt.next >= simt.end) {
        s.ended += s.threads_of(s.warp);  // nobody in this warp has waited
    }
    const Scheduler::Choice choice = s.choose();
    if (choice.kind == Scheduler::Kind::begin) {
        s.set_index(choice.thread);
        return true;
    }
    const bool is_core_stack = s.is_core_stack();
    if (choice.kind == Scheduler::Kind::none) {
        if (is_core_stack) return false;
        void* nowhere;
        change_stack(s, &nowhere, *s.core_position);
        __builtin_unreachable();
    }
    // This stack is free: for another thread, or, the core's, until the end. The switch fills the slot.
    void** slot = is_core_stack ? &s.core_sp : &s.idle[s.idle_count++];
    if (is_core_stack) s.core_position = slot;
    change_stack(s, slot, s.of_thread[choice.thread].sp);
    if (!is_core_stack) return true;
    rethrow_error(s);
    return false;
}

void simt_launch(uint32_t x, uint32_t y, uint32_t z, SimtLoop loop, const void* body, const void* pc) {
    const Issue issue{this_core(), "asc_vf_call", Pipe::V, pc};
    issue.on(CoreKind::aiv0);
    const uint64_t threads = uint64_t{x} * y * z;
    if (threads < 1 || threads > kMaxSimtThreads || x > kMaxSimtThreads || y > kMaxSimtThreads || z > kMaxSimtThreads)
        issue.fail(format("%u x %u x %u threads; a function runs 1 to %u", x, y, z, kMaxSimtThreads));
    if (simt.is_running) issue.fail("a SIMT function cannot start another one");
    if (!own_scheduler) {
        own_scheduler = std::make_unique<Scheduler>();
        scheduler = own_scheduler.get();
    }
    Scheduler& s = *scheduler;
    s.core = &issue.core;
    s.pc = pc;
    s.loop = loop;
    s.body = body;
    s.threads = static_cast<uint32_t>(threads);
    s.warps = (s.threads + kWarpThreads - 1) / kWarpThreads;
    s.ended = s.stacks_used = s.idle_count = 0;
    s.error = nullptr;
    s.barrier_line = s.elsewhere = 0;
    s.is_checked = issue.core.ai.ub_of(issue.core).valid.byte_bits() != nullptr;
    s.set_epoch(s.epoch + 1);
    simt_completed = 0;
    simt.exchange = s.stacks.exchange();
    simt.dim_x = x;
    simt.dim_y = y;
    simt.dim_z = z;
    simt.ub_begin = reinterpret_cast<uint64_t>(issue.core.ai.ub_of(issue.core).at(0));
    simt.counts = {};
    simt.last_atomic = 0;
    issue.core.flush_pending_vector_work();
    s.begin_warp(0);
    simt.at = {0, 0, 0, simt.next++};
    s.name_warp();
    {
        const Running running(s);
        loop(body);
    }
    Record record{};
    record.op = op_simt;
    record.pipe = Pipe::V;
    record.path = Path::simt;
    record.amount = s.threads;
    record.simt = {simt.counts.operations, simt.counts.gm_bytes, s.threads, simt.counts.barriers, simt.counts.exchanges,
                   simt.counts.ub_atomics, simt.counts.gm_atomics, simt.counts.gm_atomics_again};
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
