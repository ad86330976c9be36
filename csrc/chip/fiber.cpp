// SPDX-License-Identifier: MIT
// The fiber switch: callee-saved registers on the stack, then the stack pointer.
#include "chip/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__x86_64__)
asm(R"(
    .text
    .globl ascend_fiber_switch
    .hidden ascend_fiber_switch
    .type ascend_fiber_switch, @function
ascend_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size ascend_fiber_switch, .-ascend_fiber_switch

    .globl ascend_fiber_start
    .hidden ascend_fiber_start
    .type ascend_fiber_start, @function
ascend_fiber_start:
    .cfi_startproc
    .cfi_undefined rip
    movq %rbx, %rdi
    call *%r12
    ud2
    .cfi_endproc
    .size ascend_fiber_start, .-ascend_fiber_start
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl ascend_fiber_switch
    .hidden ascend_fiber_switch
    .type ascend_fiber_switch, %function
ascend_fiber_switch:
    sub sp, sp, #176
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mrs x9, fpcr
    str x9, [sp, #160]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldr x9, [sp, #160]
    msr fpcr, x9
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #176
    ret
    .size ascend_fiber_switch, .-ascend_fiber_switch

    .globl ascend_fiber_start
    .hidden ascend_fiber_start
    .type ascend_fiber_start, %function
ascend_fiber_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    blr x20
    brk #0
    .cfi_endproc
    .size ascend_fiber_start, .-ascend_fiber_start
)");
#else
#error "ascend-sim runs on x86-64 and aarch64"
#endif

extern "C" void ascend_fiber_switch(void** save_sp, void* load_sp);
extern "C" void ascend_fiber_start();

namespace ascend {

void fiber_entry(Fiber* fiber) { Fiber::entry(fiber); }

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
    auto top = reinterpret_cast<uintptr_t>(stack_) + kStackBytes + kGuardBytes;
    auto* sp = reinterpret_cast<uint64_t*>(top & ~uintptr_t{15});
#if defined(__x86_64__)
    *--sp = 0;                                                  // keeps the call in ascend_fiber_start 16-byte aligned
    *--sp = 0;
    *--sp = reinterpret_cast<uint64_t>(&ascend_fiber_start);    // return address of the first switch
    *--sp = 0;                                                  // rbp
    *--sp = reinterpret_cast<uint64_t>(this);                   // rbx
    *--sp = reinterpret_cast<uint64_t>(&fiber_entry);           // r12
    *--sp = 0;
    *--sp = 0;
    *--sp = 0;
    *--sp = 0x037f00001f80ull;                                  // mxcsr, x87 control word: the defaults
#else
    sp -= 22;
    for (int i = 0; i < 22; ++i) sp[i] = 0;
    sp[0] = reinterpret_cast<uint64_t>(this);                   // x19
    sp[1] = reinterpret_cast<uint64_t>(&fiber_entry);           // x20
    sp[11] = reinterpret_cast<uint64_t>(&ascend_fiber_start);   // x30
#endif
    own_sp_ = sp;
}

void Fiber::entry(Fiber* fiber) {
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
    scheduler_.leave(stack_bottom(), kStackBytes);
    ascend_fiber_switch(&scheduler_sp_, own_sp_);
    scheduler_.arrive();
}

void Fiber::yield() {
    own_.leave(scheduler_);
    ascend_fiber_switch(&own_sp_, scheduler_sp_);
    own_.arrive(&scheduler_);
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
    ascend_fiber_switch(&own_sp_, scheduler_sp_);
}

void Fiber::cancel() {
    cancelled_ = true;
    while (!done_) resume();
}

}  // namespace ascend
