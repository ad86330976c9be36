// SPDX-License-Identifier: MIT
// How do the cores of one AI core take turns on a host thread? As stackful fibers.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

#include "chip/sanitizer.h"

namespace ascend {

// Thrown inside a fiber when its launch is given up, so that its frames unwind.
struct FiberCancelled {};

class Fiber {
public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    void start(std::function<void()> body);  // ready to run; the body begins at the first resume
    void resume();                           // from the scheduler: runs until the fiber yields or ends
    void yield();                            // from inside: back to the scheduler
    void cancel();                           // unwinds a live fiber; afterwards it is done
    [[noreturn]] void abandon(std::exception_ptr error);  // from inside: ends without unwinding
    bool done() const { return done_; }
    std::exception_ptr error() const { return error_; }

    static constexpr size_t kStackBytes = 512 * 1024;  // generated kernels keep local arrays
    static constexpr size_t kGuardBytes = 64 * 1024;   // below the stack; a multiple of every page size in use
    bool owns(const void* p) const { return at(p) < kGuardBytes + kStackBytes; }
    bool is_guard(const void* p) const { return at(p) < kGuardBytes; }
    void* stack_bottom() const { return static_cast<char*>(stack_) + kGuardBytes; }
    void* stack_top() const { return static_cast<char*>(stack_) + kGuardBytes + kStackBytes; }

private:
    static void entry(void* self);
    void leave_for_ever();
    size_t at(const void* p) const { return reinterpret_cast<size_t>(p) - reinterpret_cast<size_t>(stack_); }

    void* stack_ = nullptr;         // mapping with a guard page below
    void* own_sp_ = nullptr;
    void* scheduler_sp_ = nullptr;
    [[no_unique_address]] sanitizer::Stack own_, scheduler_;
    std::function<void()> body_;
    std::exception_ptr error_;
    bool done_ = true;
    bool cancelled_ = false;
};

}  // namespace ascend
