// SPDX-License-Identifier: MIT
// How does a signal become an exception? The handler sends the thread to trapped() on the stack of the running fiber.
#include "chip/trap.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "chip/address.h"
#include "chip/core.h"
#include "chip/device.h"
#include "chip/division.h"
#include "chip/launch.h"
#include "chip/sanitizer.h"
#include "chip/source_line.h"

namespace ascend {

namespace {

struct Trap {
    int signal;
    uint64_t address, pc;
    uint64_t kernel_page;      // of 4096 bytes, where a kernel's code is: whose code is where takes long to find out
    Frames* stack;             // not in here: thread-local memory is scarce
    volatile bool is_walking;  // the stack: one that the kernel has destroyed may trap again
    bool is_call;  // of an address where no code is; pc is the caller's then, or 0
};
thread_local Trap trap [[gnu::tls_model("initial-exec")]];

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
// Of the timers. Real-time signals are nobody's by default; the C library keeps the first ones, and shows SIGRTMIN behind them.
int time_signal() { return SIGRTMIN + 6; }
struct sigaction previous[std::size(kSignals)];

constexpr uint64_t kUnknownAddress = ~uint64_t{0};  // the processor does not say which
constexpr uint64_t kOnChipOffsets = 1u << 20;  // pointers into L1 and L0 are offsets; the host maps nothing down there

TrapContext simt_context;
std::atomic<bool> division_ends_threads{false};

enum class Where { elsewhere, ub0, ub1, on_chip_offset, global_memory, stack_guard, thread_stack_guard };

bool is_guard(const Core& core, const void* p) { return core.fiber.is_guard(p) || (simt_context.is_guard && simt_context.is_guard(p)); }

// Asked in the signal handler: looks, and calls nothing.
Where where_is(const Core& core, uint64_t address) {
    const auto* p = reinterpret_cast<const void*>(address);
    if (core.ai.ub[0].is_near(p)) return Where::ub0;
    if (core.ai.ub[1].is_near(p)) return Where::ub1;
    if (address < kOnChipOffsets) return Where::on_chip_offset;
    if (core.fiber.is_guard(p)) return Where::stack_guard;
    if (simt_context.is_guard && simt_context.is_guard(p)) return Where::thread_stack_guard;
    return core.ai.launch->device().hbm.contains(p) ? Where::global_memory : Where::elsewhere;
}

}  // namespace

std::string what_is_at(const Core& core, uint64_t address) {
    if (address == kUnknownAddress) return "an address that no memory can have";
    const Where where = where_is(core, address);
    switch (where) {
        case Where::ub0:
        case Where::ub1: {
            const Memory& ub = core.ai.ub[where == Where::ub1];
            const int64_t offset = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(ub.at(0)));
            const bool before = offset < 0;
            if (!before && offset < ub.bytes())
                return format("%s address 0x%llx is the other vector core's", ub.name(), static_cast<unsigned long long>(offset));
            return format("%s address %s0x%llx lies %s the memory, which ends at 0x%x", ub.name(), before ? "-" : "",
                          static_cast<unsigned long long>(before ? -offset : offset), before ? "before" : "behind",
                          ub.bytes());
        }
        case Where::on_chip_offset:
            return format("address 0x%llx is no memory of this core's scalar unit: it is null, or an offset into L1 or "
                          "L0, which only instructions reach", static_cast<unsigned long long>(address));
        case Where::stack_guard:
            return format("local variables need more than the %zu KiB of this core's stack", Fiber::kStackBytes / 1024);
        case Where::thread_stack_guard:
            return format("local variables need more than the %zu KiB of this thread's stack", simt_context.stack_kib);
        case Where::elsewhere: {
            const std::string other = whose_memory(core.ai.launch->device().hbm, address);
            if (!other.empty()) return other;
            return format("address 0x%llx is neither in UB nor in global memory", static_cast<unsigned long long>(address));
        }
        default: return not_live(core.ai.launch->device().hbm, address);
    }
}

// A wild index may lead anywhere. It is the kernel's own if the code that used it is neither of this library nor of the C
// library, which may hold locks.
bool is_kernel_code(uint64_t pc) {
    Dl_info code, own, c_library;
    return dladdr(reinterpret_cast<const void*>(pc), &code) && dladdr(reinterpret_cast<const void*>(&install_traps), &own) &&
           dladdr(reinterpret_cast<const void*>(&sigaction), &c_library) && code.dli_fbase != own.dli_fbase &&
           code.dli_fbase != c_library.dli_fbase;
}

namespace {

bool is_code(uint64_t pc) {
    Dl_info code;
    return dladdr(reinterpret_cast<const void*>(pc), &code) != 0;
}

// In the fiber, as if the trapping instruction had called it; there is nothing to return to.
[[noreturn]] void trapped() {
    Core& core = *running_core;
    sanitizer::leave_stack_for(core.fiber.stack_bottom(), Fiber::kStackBytes);  // the trap may have come from another one
    sanitizer::arrive_on_stack();
    const Trap what = trap;
    const auto* pc = reinterpret_cast<const void*>(what.pc + 1);  // fail() takes return addresses
    std::exception_ptr error;
    try {
        const std::string thread = simt_context.thread_name ? simt_context.thread_name() : std::string();
        const bool simt = !thread.empty();
        const std::string where = simt ? thread + ": " : thread;
        if (what.signal == time_signal())
            core.fail(simt ? "SIMT code" : "scalar code", simt ? Pipe::V : Pipe::S, pc, where + core.ai.launch->reason_to_end(), what.stack);
        if (what.signal == SIGFPE)
            core.fail(simt ? "SIMT code" : "scalar code", simt ? Pipe::V : Pipe::S, pc,
                      where + "integer division by zero, or of the most negative integer by -1, whose quotient has no representation" +
                          (division_ends_threads && simt ? " (an error because of ASCEND_SIM_CHECK=division)" : ""), what.stack);
        if (what.signal == SIGILL || what.signal == SIGTRAP)
            core.fail(simt ? "SIMT code" : "scalar code", simt ? Pipe::V : Pipe::S, pc,
                      where + "a trap instruction: __builtin_trap, or code that the compiler knows to be wrong, as the use of a null pointer", what.stack);
        if (what.is_call)
            core.fail(simt ? "SIMT code" : "scalar code", simt ? Pipe::V : Pipe::S, what.pc ? pc : nullptr,
                      where + format("call of address 0x%llx, where no code is", static_cast<unsigned long long>(what.address)), what.stack);
        // The line of the instruction tells which one it is; none: an access by plain C++.
        const std::string instruction = instruction_at(reinterpret_cast<uint64_t>(pc));
        const char* plain = simt ? "SIMT load or store" : "scalar load or store";
        core.fail(instruction.empty() ? plain : instruction.c_str(), instruction.empty() && !simt ? Pipe::S : Pipe::V, pc,
                  where + what_is_at(core, what.address), what.stack);
    } catch (...) {
        error = std::current_exception();
    }
    if (simt_context.forget) simt_context.forget();
    core.fiber.abandon(std::move(error));
}

void handle(int signal, siginfo_t* info, void* context) {
    Core* core = running_core;
    const auto address = info->si_code == SI_KERNEL ? kUnknownAddress : reinterpret_cast<uint64_t>(info->si_addr);
    auto* machine = &static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    auto& pc = reinterpret_cast<uint64_t&>(machine->gregs[REG_RIP]);
    auto& sp = reinterpret_cast<uint64_t&>(machine->gregs[REG_RSP]);
    constexpr uint64_t kReturnAddress = 8;
#else
    auto& pc = reinterpret_cast<uint64_t&>(machine->pc);
    auto& sp = reinterpret_cast<uint64_t&>(machine->sp);
    constexpr uint64_t kReturnAddress = 0;
#endif
    const auto* stack = reinterpret_cast<const void*>(sp);
    const bool is_time = signal == time_signal();
    if (is_time && (trap.is_walking || !(core && core->ai.launch->must_end()))) return;
    // The processor found nothing to execute where it was sent: the caller is where it would have returned to.
    const bool is_call = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0 && address == pc;
    const bool is_kernel = core && (core->fiber.owns(stack) || (simt_context.owns_stack && simt_context.owns_stack(stack))) &&
                           (signal == SIGFPE || is_call || (!is_time && where_is(*core, address) != Where::elsewhere) || is_kernel_code(pc));
    if (signal == SIGFPE && is_kernel && !division_ends_threads && simt_context.in_thread && simt_context.in_thread() &&
        (pc / 4096 == trap.kernel_page || is_kernel_code(pc))) {
        trap.kernel_page = pc / 4096;
        if (divide_without_trap(*machine)) return;
    }
    if (is_kernel || trap.is_walking) {
        if (!trap.is_walking) {
            trap.signal = signal;
            trap.address = address;
            trap.pc = pc;
#if defined(__x86_64__)
            trap.pc -= signal == SIGTRAP;  // which comes behind its instruction
#endif
            trap.is_call = is_call;
            if (is_call) {
#if defined(__x86_64__)
                const uint64_t caller = is_guard(*core, stack) ? 0 : *static_cast<const uint64_t*>(stack);
#else
                const uint64_t caller = machine->regs[30];
#endif
                trap.pc = caller && is_kernel_code(caller - 1) ? caller - 1 : 0;
            }
            trap.stack->count = 0;
            trap.is_walking = true;
            if (is_code(pc)) *trap.stack = Frames::here();
        }
        trap.is_walking = false;
        sanitizer::unpoison(core->fiber.stack_bottom(), Fiber::kStackBytes);  // the frames that are given up
        pc = reinterpret_cast<uint64_t>(&trapped);
        sp = reinterpret_cast<uint64_t>(core->fiber.stack_top()) - kReturnAddress;  // as after a call
        return;
    }
    if (is_time) return;  // in an instruction: the timer comes again
    for (size_t i = 0; i < std::size(kSignals); ++i) {
        if (kSignals[i] != signal) continue;
        struct sigaction next = previous[i];
        previous[i].sa_flags = 0;
        previous[i].sa_handler = SIG_DFL;  // if that one hands the signal back to us: as if nobody were here
        if (next.sa_flags & SA_SIGINFO) {
            next.sa_sigaction(signal, info, context);
        } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
            next.sa_handler(signal);
        } else {
            sigaction(signal, &next, nullptr);  // a trap comes again when its instruction is repeated, a raised signal not
            if (info->si_code <= 0) raise(signal);
        }
    }
}

// A host thread's stack for the handler, where it has none yet.
struct HandlerStack {
    static constexpr size_t kBytes = 64 * 1024;  // with AVX-512 and AMX registers a signal frame takes up to 12 KiB
    void* memory = nullptr;
    const std::unique_ptr<Frames> frames = std::make_unique<Frames>();  // what the handler finds on the kernel's stack
    HandlerStack() {
        stack_t now;
        if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return;
        memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            memory = nullptr;
            return;
        }
        const stack_t own{memory, 0, kBytes};
        sigaltstack(&own, nullptr);
    }
    ~HandlerStack() {
        if (!memory) return;
        const stack_t none{nullptr, SS_DISABLE, 0};
        sigaltstack(&none, nullptr);
        munmap(memory, kBytes);
    }
};

// A host thread's timer, made when it is first needed.
struct Timer {
    timer_t id{};
    bool exists = false;
    pid_t process = getpid();  // a child of fork has no timers
    Timer() {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = time_signal();
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        exists = timer_create(CLOCK_MONOTONIC, &event, &id) == 0;  // if there are none left, waits and instructions still ask
    }
    ~Timer() {
        if (exists && process == getpid()) timer_delete(id);
    }
    void set(const itimerspec& when) const {
        if (exists) timer_settime(id, 0, &when, nullptr);
    }
};

const Timer& own_timer() {
    static thread_local std::optional<Timer> timer;
    if (!timer || timer->process != getpid()) timer.emplace();
    return *timer;
}

}  // namespace

Ticks::Ticks() {
    constexpr long kTickNs = 100'000'000;
    own_timer().set({{0, kTickNs}, {0, kTickNs}});
}

Ticks::~Ticks() { own_timer().set({}); }

void set_division_check(bool on) { division_ends_threads = on; }

void set_trap_context(const TrapContext& given) { simt_context = given; }

void install_traps() {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    struct sigaction action {};
    action.sa_sigaction = handle;
    // SA_NODEFER: the handler is left by jumping into the fiber, and a later kernel may trap again.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(kSignals); ++i) {
        struct sigaction now;
        sigaction(kSignals[i], nullptr, &now);
        const bool is_own = now.sa_sigaction == handle;  // a union: so it is if signal() restored it, too, which forgets the flags
        if (is_own && now.sa_flags & SA_SIGINFO) continue;
        if (!is_own) previous[i] = now;
        sigaction(kSignals[i], &action, nullptr);
    }
    action.sa_flags |= SA_RESTART;
    sigaction(time_signal(), &action, nullptr);
}

void prepare_thread_for_traps() {
    static thread_local HandlerStack stack;
    trap.stack = stack.frames.get();
}

}  // namespace ascend
