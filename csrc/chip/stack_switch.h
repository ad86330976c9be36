// SPDX-License-Identifier: MIT
// How does a host thread go on on another stack? With a hand-written switch: a few ns. (ucontext saves the signal mask
// with a system call and is a hundred times slower.)
#pragma once

#include <cstdint>

extern "C" void ascend_switch_stack(void** position, void* to);

namespace ascend {

// Leaves the running stack for another, and returns when somebody comes back to the position stored here. Saves what a
// call preserves, but for the floating-point modes.
inline void switch_stack(void** position, void* to) { ascend_switch_stack(position, to); }

// A position on the unused stack below `top`, where main(argument) begins. It must not return.
void* begin_stack(void* top, void (*main)(void*), void* argument);

// Rounding, exceptions, subnormals: of the thread, whatever its stack.
class FloatingPointModes {
public:
    static FloatingPointModes present();
    static FloatingPointModes defaults();
    void set() const;

private:
#if defined(__x86_64__)
    uint32_t mxcsr_ = 0x1f80;
    uint16_t x87_ = 0x037f;
#else
    uint64_t fpcr_ = 0;
#endif
};

}  // namespace ascend
