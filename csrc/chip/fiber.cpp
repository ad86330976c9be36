// SPDX-License-Identifier: MIT
// What happens when a fiber begins, waits, ends or is given up.
#include "chip/fiber.h"

#include <sys/mman.h>

#include <new>

#include "chip/stack_switch.h"

namespace ascend {

Fiber::Fiber() {
    stack_ = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack_, kGuardBytes, PROT_NONE);
}

Fiber::~Fiber() {
    cancel();
    munmap(stack_, kStackBytes + kGuardBytes);
}

void Fiber::start(std::function<void()> body) {
    body_ = std::move(body);
    error_ = nullptr;
    done_ = false;
    cancelled_ = false;
    own_.forget();
    sanitizer::unpoison(stack_bottom(), kStackBytes);           // frames of an abandoned body
    own_sp_ = begin_stack(stack_top(), entry, this);
}

void Fiber::entry(void* self) {
    auto* fiber = static_cast<Fiber*>(self);
    FloatingPointModes::defaults().set();
    fiber->own_.arrive(&fiber->scheduler_);
    try {
        if (!fiber->cancelled_) fiber->body_();
    } catch (const FiberCancelled&) {
    } catch (...) {
        fiber->error_ = std::current_exception();
    }
    fiber->leave_for_ever();
}

void Fiber::resume() {
    const auto modes = FloatingPointModes::present();
    scheduler_.leave(stack_bottom(), kStackBytes);
    switch_stack(&scheduler_sp_, own_sp_);
    scheduler_.arrive();
    modes.set();
}

void Fiber::yield() {
    const auto modes = FloatingPointModes::present();
    own_.leave(scheduler_);
    switch_stack(&own_sp_, scheduler_sp_);
    own_.arrive(&scheduler_);
    modes.set();
    if (cancelled_) throw FiberCancelled{};
}

void Fiber::abandon(std::exception_ptr error) {
    error_ = std::move(error);
    leave_for_ever();
    __builtin_unreachable();
}

void Fiber::leave_for_ever() {
    done_ = true;
    own_.leave(scheduler_, true);
    switch_stack(&own_sp_, scheduler_sp_);
}

void Fiber::cancel() {
    cancelled_ = true;
    while (!done_) resume();
}

}  // namespace ascend
