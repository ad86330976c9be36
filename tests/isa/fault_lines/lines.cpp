// SPDX-License-Identifier: MIT
// Which line does a message name if the fault is in a header? Each kernel calls shared.h from several lines, and the argument
// `where` chooses the one that breaks a rule: `// @name 1` marks it. tests/isa/test_fault_lines.py.
#include "simt_api/asc_simt.h"
#include "shared.h"

#define VECTOR(name) extern "C" __global__ __vector__ void name(__gm__ float* x, int where)

VECTOR(inlined) {
    ASC_VF;
    vector_f32 sum = shared::load(shared::ub(0), 0);
    const vector_bool all = asc_create_mask_b32(PAT_ALL);
    asc_add(sum, sum, shared::load(shared::ub(where == 1 ? 4 : 0), 64), all);  // @inlined 1
    asc_add(sum, sum, shared::load(shared::ub(where == 2 ? 8 : 0), 64), all);  // @inlined 2
    asc_add(sum, sum, shared::load(shared::ub(where == 3 ? 12 : 0), 64), all);  // @inlined 3
    asc_storealign(shared::ub(0), sum, 0, all);
}

VECTOR(called) {
    shared::copy_twice<64>(where == 1 ? 16 : 64, x);  // @called 1
    shared::copy_twice<64>(where == 2 ? 16 : 64, x);  // @called 2
    x[0] = 1;
}

VECTOR(ends_in_a_jump) {
    asc_sync_notify(PIPE_MTE2, PIPE_V, 0);
    asc_sync_notify(PIPE_MTE2, PIPE_V, 1);
    shared::wait(where == 1 ? 9 : 0);  // @ends_in_a_jump 1
    x[0] = 1;
    shared::wait(where == 2 ? 9 : 1);  // @ends_in_a_jump 2
    x[0] = 2;
}

VECTOR(trap_of_scalar_code) {
    x[0] = shared::element(shared::ub(0), where == 1 ? -1 : 0);  // @trap_of_scalar_code 1
    x[1] = shared::element(shared::ub(0), where == 2 ? -1 : 0);  // @trap_of_scalar_code 2
}

VECTOR(of_an_exported_function) {
    x[0] = shared::exported(shared::ub(where == 1 ? -4 : 0));  // @of_an_exported_function 1
    x[1] = shared::exported(shared::ub(where == 2 ? -4 : 0));  // @of_an_exported_function 2
}

VECTOR(unlikely) {
    shared::rarely(x, where == 1);  // @unlikely 1
    shared::rarely(x, where == 2);  // @unlikely 2
    x[1] = 1;
}

VECTOR(assertion) {
    if (where == 1) shared::fail_with("x is one");  // @assertion 1
    if (where == 2) shared::fail_with("x is two");  // @assertion 2
}

__simt_vf__ inline void threads(__ubuf__ float* x, int where) {
    if (threadIdx.x == 33) x[0] = shared::element(x, where == 1 ? -1 : 0);  // @simt 1
    asc_syncthreads();
    if (threadIdx.x == 34) x[1] = shared::element(x, where == 2 ? -1 : 0);  // @simt 2
    if (threadIdx.x == 35 && where == 3) shared::fail_with("in a thread");  // @simt 3
}
VECTOR(simt) { asc_vf_call<threads>(cce::dim3(64), shared::ub(0), where); }

// Nobody sets the flag: the wait is in the queue when the launch gives up.
VECTOR(deferred) {
    if (where != 2) shared::store_behind(0);  // @deferred 1
    if (where != 1) shared::store_behind(1);  // @deferred 2
    for (int i = 0; i < (where ? 0 : 2); ++i) {
        asc_sync_notify(PIPE_V, PIPE_MTE3, i);
        asc_sync_wait(PIPE_MTE3, PIPE_V, i);
    }
}

// Where it would return to is overwritten: nobody can follow the stack.
[[gnu::noinline]] inline void breaks_its_frame(volatile float* wild) {
    auto* frame = static_cast<volatile uint64_t*>(__builtin_frame_address(0));
    for (int i = 0; i < 8; ++i) frame[i] = 0x123456789;
    *wild = 1;  // @broken_stack 1
}
VECTOR(broken_stack) {
    if (where) breaks_its_frame(shared::ub(-4));
}

VECTOR(printed_before) {
    if (where) printf("first\n");
    if (where) printf("x[%d] = %g\n", 3, 0.5);
    assert(!where);  // @printed_before 1
}
