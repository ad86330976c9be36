// SPDX-License-Identifier: MIT
// How does a signal become an exception? The handler sends the thread to trapped() on the stack of the running fiber.
#include "chip/trap.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>

#include "chip/core.h"
#include "chip/device.h"
#include "chip/launch.h"

namespace ascend {

namespace {

struct Trap {
    int signal;
    uint64_t address, pc;
};
thread_local Trap trap [[gnu::tls_model("initial-exec")]];

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
struct sigaction previous[std::size(kSignals)];

constexpr uint64_t kOnChipOffsets = 1u << 20;  // pointers into L1 and L0 are offsets; the host maps nothing down there

enum class Where { elsewhere, ub0, ub1, on_chip_offset, global_memory, stack_guard };

// Asked in the signal handler: looks, and calls nothing.
Where where_is(const Core& core, uint64_t address) {
    const auto* p = reinterpret_cast<const void*>(address);
    if (core.ai.ub[0].is_near(p)) return Where::ub0;
    if (core.ai.ub[1].is_near(p)) return Where::ub1;
    if (address < kOnChipOffsets) return Where::on_chip_offset;
    if (core.fiber.is_guard(p)) return Where::stack_guard;
    return core.ai.launch->device().hbm.contains(p) ? Where::global_memory : Where::elsewhere;
}

std::string describe(Core& core, uint64_t address) {
    const Where where = where_is(core, address);
    switch (where) {
        case Where::ub0:
        case Where::ub1: {
            const Memory& ub = core.ai.ub[where == Where::ub1];
            const int64_t offset = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(ub.at(0)));
            const bool before = offset < 0;
            return format("%s address %s0x%llx lies %s the memory, which ends at 0x%x", ub.name(), before ? "-" : "",
                          static_cast<unsigned long long>(before ? -offset : offset), before ? "before" : "behind",
                          ub.bytes());
        }
        case Where::on_chip_offset:
            return format("address 0x%llx is no memory of this core's scalar unit: it is null, or an offset into L1 or "
                          "L0, which only instructions reach", static_cast<unsigned long long>(address));
        case Where::stack_guard:
            return format("local variables need more than the %zu KiB of this core's stack", Fiber::kStackBytes / 1024);
        default:
            return format("global memory 0x%llx belongs to no live tensor", static_cast<unsigned long long>(address));
    }
}

// In the fiber, as if the trapping instruction had called it; there is nothing to return to.
[[noreturn]] void trapped() {
    Core& core = *running_core;
    const Trap what = trap;
    const auto* pc = reinterpret_cast<const void*>(what.pc + 1);  // fail() takes return addresses
    std::exception_ptr error;
    try {
        if (what.signal == SIGFPE) core.fail("scalar code", Pipe::S, pc, "integer division by zero");
        // The line of the instruction tells which one it is; none: an access by plain C++.
        const std::string instruction = instruction_at(reinterpret_cast<uint64_t>(pc));
        core.fail(instruction.empty() ? "scalar load or store" : instruction.c_str(),
                  instruction.empty() ? Pipe::S : Pipe::V, pc, describe(core, what.address));
    } catch (...) {
        error = std::current_exception();
    }
    core.fiber.abandon(error);
}

void handle(int signal, siginfo_t* info, void* context) {
    Core* core = running_core;
    const auto address = reinterpret_cast<uint64_t>(info->si_addr);
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
    const bool is_kernel = core && core->fiber.owns(reinterpret_cast<const void*>(sp)) &&
                           (signal == SIGFPE || where_is(*core, address) != Where::elsewhere);
    if (is_kernel) {
        trap = {signal, address, pc};
        pc = reinterpret_cast<uint64_t>(&trapped);
        sp = reinterpret_cast<uint64_t>(core->fiber.stack_top()) - kReturnAddress;  // as after a call
        return;
    }
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

}  // namespace

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
        if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle) continue;
        previous[i] = now;
        sigaction(kSignals[i], &action, nullptr);
    }
}

void prepare_thread_for_traps() {
    static thread_local HandlerStack stack;
    static_cast<void>(stack.memory);
}

}  // namespace ascend
