// SPDX-License-Identifier: MIT
// The switch between stacks: callee-saved registers on the stack, then the stack pointer.
#include "chip/stack_switch.h"

#if defined(__x86_64__)
asm(R"(
    .text
    .globl ascend_switch_stack
    .hidden ascend_switch_stack
    .type ascend_switch_stack, @function
ascend_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size ascend_switch_stack, .-ascend_switch_stack

    .globl ascend_begin_stack
    .hidden ascend_begin_stack
    .type ascend_begin_stack, @function
ascend_begin_stack:
    .cfi_startproc
    .cfi_undefined rip
    movq %rbx, %rdi
    call *%r12
    ud2
    .cfi_endproc
    .size ascend_begin_stack, .-ascend_begin_stack
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl ascend_switch_stack
    .hidden ascend_switch_stack
    .type ascend_switch_stack, %function
ascend_switch_stack:
    sub sp, sp, #160
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
    mov x9, sp
    str x9, [x0]
    mov sp, x1
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
    add sp, sp, #160
    ret
    .size ascend_switch_stack, .-ascend_switch_stack

    .globl ascend_begin_stack
    .hidden ascend_begin_stack
    .type ascend_begin_stack, %function
ascend_begin_stack:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    blr x20
    brk #0
    .cfi_endproc
    .size ascend_begin_stack, .-ascend_begin_stack
)");
#else
#error "ascend-sim runs on x86-64 and aarch64"
#endif

extern "C" void ascend_begin_stack();

namespace ascend {

void* begin_stack(void* top, void (*main)(void*), void* argument) {
    auto* sp = reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15});
#if defined(__x86_64__)
    *--sp = 0;                                                // keeps the call in ascend_begin_stack 16-byte aligned
    *--sp = 0;
    *--sp = reinterpret_cast<uint64_t>(&ascend_begin_stack);  // return address of the first switch
    *--sp = 0;                                                // rbp
    *--sp = reinterpret_cast<uint64_t>(argument);             // rbx
    *--sp = reinterpret_cast<uint64_t>(main);                 // r12
    for (int i = 0; i < 3; ++i) *--sp = 0;                    // r13 .. r15
#else
    sp -= 20;
    for (int i = 0; i < 20; ++i) sp[i] = 0;
    sp[0] = reinterpret_cast<uint64_t>(argument);              // x19
    sp[1] = reinterpret_cast<uint64_t>(main);                  // x20
    sp[11] = reinterpret_cast<uint64_t>(&ascend_begin_stack);  // x30
#endif
    return sp;
}

FloatingPointModes FloatingPointModes::defaults() { return {}; }

#if defined(__x86_64__)
FloatingPointModes FloatingPointModes::present() {
    FloatingPointModes modes;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(modes.mxcsr_), "=m"(modes.x87_));
    return modes;
}
void FloatingPointModes::set() const { asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr_), "m"(x87_)); }
#else
FloatingPointModes FloatingPointModes::present() {
    FloatingPointModes modes;
    asm volatile("mrs %0, fpcr" : "=r"(modes.fpcr_));
    return modes;
}
void FloatingPointModes::set() const { asm volatile("msr fpcr, %0" : : "r"(fpcr_)); }
#endif

}  // namespace ascend
