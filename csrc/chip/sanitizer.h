// SPDX-License-Identifier: MIT
// What must AddressSanitizer be told that it cannot see? Switches of stacks, and which bytes of a mapping are in use.
// In ordinary builds all of this is nothing.
#pragma once

#include <cstddef>

// Kernels compiled for the memory check (isa/memory_check.h) are instrumented, but not linked with its library.
#if defined(__SANITIZE_ADDRESS__) && !defined(ASCEND_SIM_CHECK_MEMORY)
#define ASCEND_SIM_SANITIZED 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace ascend::sanitizer {

#if defined(ASCEND_SIM_SANITIZED)
constexpr bool kActive = true;
#else
constexpr bool kActive = false;
#endif

// A stack that is left and returned to. leave() before the switch away from it, arrive() after the switch to it.
class Stack {
public:
#if defined(ASCEND_SIM_SANITIZED)
    // To the stack [bottom, bottom + bytes). `for_ever`: nobody comes back to this one.
    void leave(const void* bottom, size_t bytes, bool for_ever = false) {
        __sanitizer_start_switch_fiber(for_ever ? nullptr : &frames_, bottom, bytes);
    }
    void leave(const Stack& to, bool for_ever = false) { leave(to.bottom_, to.bytes_, for_ever); }
    // `from`: learns where the stack is that was left.
    void arrive(Stack* from = nullptr) {
        __sanitizer_finish_switch_fiber(frames_, from ? &from->bottom_ : nullptr, from ? &from->bytes_ : nullptr);
    }
    void forget() { frames_ = nullptr; }

private:
    void* frames_ = nullptr;
    const void* bottom_ = nullptr;
    size_t bytes_ = 0;
#else
    void leave(const void*, size_t, bool = false) {}
    void leave(const Stack&, bool = false) {}
    void arrive(Stack* = nullptr) {}
    void forget() {}
#endif
};

// The same for stacks of which nothing has to be remembered.
inline void leave_stack_for([[maybe_unused]] const void* bottom, [[maybe_unused]] size_t bytes) {
#if defined(ASCEND_SIM_SANITIZED)
    __sanitizer_start_switch_fiber(nullptr, bottom, bytes);
#endif
}
inline void arrive_on_stack() {
#if defined(ASCEND_SIM_SANITIZED)
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

// Bytes that nothing may touch from now on, and bytes that may be touched again.
inline void poison([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(ASCEND_SIM_SANITIZED)
    __asan_poison_memory_region(begin, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(ASCEND_SIM_SANITIZED)
    __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace ascend::sanitizer
