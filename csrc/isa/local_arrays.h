// SPDX-License-Identifier: MIT
// What becomes of an index beyond a local array of kernel code? The compiler checks those it can see (-fsanitize=bounds); its calls
// are answered here, and no sanitizer library is linked. An array's neighbours on the stack belong to the host.
#pragma once

#include <cstdint>

namespace ascend::isa {

// What the compiler describes a type by.
struct CheckedType {
    uint16_t kind;              // 0: an integer
    uint16_t integer;           // bit 0: it is signed; above: the logarithm of its bits
    char name[1];               // as in "'float [8]'", with a zero behind
};
struct CheckedIndex {
    const char* file;
    uint32_t line, column;
    const CheckedType *array, *index;
};
[[noreturn, gnu::cold, gnu::visibility("default")]] void local_index_fault(const CheckedIndex& where, uint64_t index, const void* pc);

}  // namespace ascend::isa

extern "C" __attribute__((visibility("hidden"), used, noinline, noreturn, cold)) void asc_local_index(
    const ascend::isa::CheckedIndex* where, uint64_t index) asm("__ubsan_handle_out_of_bounds_abort");
extern "C" void asc_local_index(const ascend::isa::CheckedIndex* where, uint64_t index) {
    ascend::isa::local_index_fault(*where, index, __builtin_return_address(0));
}
