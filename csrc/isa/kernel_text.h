// SPDX-License-Identifier: MIT
// What happens when kernel text throws, or asks the host to end the process? The chip has neither: the launch ends with an error.
//
// Included in front of kernels given as text. Calls of these functions from that text come here, since hidden symbols of an object
// go before those of libraries; outside kernels they do what they always do.
#pragma once

namespace ascend::isa {
[[noreturn, gnu::visibility("default")]] void text_throws(void* object, void* type, void (*destroy)(void*), const void* pc);
[[noreturn, gnu::visibility("default")]] void text_aborts(const void* pc);
[[noreturn, gnu::visibility("default")]] void text_exits(int status, const void* pc);
}  // namespace ascend::isa

#if !defined(ASCEND_SIM_KERNEL_TEXT_ITSELF)
#define ASC_INSTEAD_OF(symbol, name, ...)                                                                        \
    extern "C" [[noreturn]] __attribute__((visibility("hidden"), used, noinline)) void name(__VA_ARGS__) asm(symbol); \
    extern "C" void name(__VA_ARGS__)
ASC_INSTEAD_OF("__cxa_throw", asc_text_throws, void* object, void* type, void (*destroy)(void*)) {
    ascend::isa::text_throws(object, type, destroy, __builtin_return_address(0));
}
ASC_INSTEAD_OF("abort", asc_text_aborts) { ascend::isa::text_aborts(__builtin_return_address(0)); }
ASC_INSTEAD_OF("exit", asc_text_exits, int status) { ascend::isa::text_exits(status, __builtin_return_address(0)); }
#undef ASC_INSTEAD_OF
#endif
