// SPDX-License-Identifier: MIT
// What do all instruction families share? The rules of addresses and fields, checked before a record is issued.
#pragma once

#include <cstdint>

#include "chip/core.h"

namespace ascend::isa {

// The instruction being built: names it in errors.
struct Issue {
    Core& core;
    const char* name;
    Pipe pipe;
    const void* pc;

    [[noreturn]] void fail(const std::string& what) const { core.fail(name, pipe, pc, what); }
    void field(const char* field_name, int64_t value, int64_t low, int64_t high) const {
        if (value < low || value > high) [[unlikely]]
            fail(format("%s = %lld; the field holds %lld to %lld", field_name, static_cast<long long>(value),
                        static_cast<long long>(low), static_cast<long long>(high)));
    }
    // [offset, offset + bytes) of an on-chip memory, `alignment` bytes aligned.
    void local(const Memory& memory, const char* what, int64_t offset, int64_t bytes, int alignment) const {
        if (offset % alignment) [[unlikely]]
            fail(format("%s: %s address 0x%llx is not %d-byte aligned", what, memory.name(),
                        static_cast<long long>(offset), alignment));
        if (offset < 0 || offset + bytes > memory.usable_bytes()) [[unlikely]] fail_outside(memory, what, offset, bytes);
    }
    [[noreturn]] void fail_outside(const Memory& memory, const char* what, int64_t offset, int64_t bytes) const;
    // The whole footprint lies in one live allocation of global memory.
    void global(const char* what, const GmFootprint& gm, uint32_t outer) const;
    void on(CoreKind kind) const;  // cube or vector core (aiv0 stands for both)
};

inline Core& this_core() { return *running_core; }
inline int64_t offset_of(const void* pointer) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer)); }

// "UB0 addresses 0x1000 to 0x1100: .. of buf_dyn_shmem": a range in the memory, beyond what the launch says the kernel has of it.
std::string beyond_allocation(const Memory& memory, int64_t offset, int64_t bytes);
// Memory check (memory_check.h): a transfer out of UB needs every byte.
void require_defined(Core& core, const Record& record, const Memory& memory, uint32_t offset, uint32_t bytes);
// Where the core's scalar and vector code has read undefined bytes last, as far as is known; null: nowhere. What it has stored is settled.
const void* last_undefined_read(const Core& core);

// "thread (3, 0, 0)" in a SIMT function, else empty.
std::string simt_thread_name();
// When a fiber is given up without unwinding.
void forget_simt_launch();
// Core::fail for code that the compiler believes cannot throw: its frames are given up as after a trap, without unwinding.
[[noreturn]] void give_up(const Core& core, const char* name, Pipe pipe, const void* pc, const std::string& what);
// What SIMT code reaches of the host thread's memory and owns: the stacks of waiting threads, and what warps exchange.
bool is_simt_memory(const void* p, uint64_t* begin, uint64_t* bytes);

// Indices into Core::registers.
enum Register {
    reg_nz_count,      // asc_set_gm2l1_nz_para: matrices, then three strides in 32-byte units
    reg_nz_n_stride,
    reg_nz_c0_stride,
    reg_nz_matrix_stride,
    reg_atomic,        // AtomicKind + 1, or 0
    reg_pad_value,
    reg_mmad_n_first,
    reg_hf32,          // bit 0 enabled, bit 1 rounds half away
    reg_fix_count,     // asc_set_l0c_copy_nz_para
    reg_fix_src_stride,
    reg_fix_dst_stride,
    reg_fix_c0_stride,
};

}  // namespace ascend::isa
