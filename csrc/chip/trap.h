// SPDX-License-Identifier: MIT
// What becomes of kernel code that dereferences an address where nothing is? Instructions check what they are given;
// scalar code and vector functions are host code, so the host's own traps must become the launch's error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ascend {

// What else than its fiber's stack a kernel runs on, of the calling host thread: csrc/isa says so for SIMT threads.
// owns_stack, is_guard, in_thread (does one of them run?): asked in the signal handler, so they call nothing.
// thread_name: "thread (3, 0, 0)", or empty. forget: called when a trap has ended the kernel.
struct TrapContext {
    bool (*owns_stack)(const void* sp) = nullptr;
    bool (*is_guard)(const void* address) = nullptr;
    bool (*in_thread)() = nullptr;
    std::string (*thread_name)() = nullptr;
    void (*forget)() = nullptr;
    size_t stack_kib = 0;
};
void set_trap_context(const TrapContext& context);

class Core;
// What a kernel's address leads to that it may not use, for a message.
std::string what_is_at(const Core& core, uint64_t address);
// Neither of this library nor of the C library.
bool is_kernel_code(uint64_t pc);

// Makes SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP raised by a kernel's own code end that kernel with a LaunchError. Its frames are
// abandoned, not unwound: host code has no unwind information for a trap, so destructors of the kernel's locals do not
// run. Traps from anywhere else go to the handler that was there before. Called by every launch: Python's faulthandler,
// when enabled later, puts itself in front.
void install_traps();
// ASCEND_SIM_CHECK=division. Without it SIMT threads of kernels given as text divide integers by zero without an error: those that
// have nothing to do often compute on, and what they compute goes nowhere.
void set_division_check(bool);
// Gives the calling host thread a stack for the handler: a fiber whose stack is full has none left.
void prepare_thread_for_traps();

// While it lives: ten times a second it is looked whether the launch that the calling host thread runs must end, and if so the
// kernel's own code is ended in the same way, also if it loops without an instruction, which would ask.
class Ticks {
public:
    Ticks();
    ~Ticks();
    Ticks(const Ticks&) = delete;
    Ticks& operator=(const Ticks&) = delete;
};

}  // namespace ascend
