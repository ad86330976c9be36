// SPDX-License-Identifier: MIT
// What must a host level provide? One table of functions per level; select.cpp alone chooses among them.
#pragma once

#include "host/copy.h"
#include "host/host.h"

namespace ascend::host {

struct Ops {
    void (*mmad)(const MmadArgs&);
    decltype(&host::nd2nz) nd2nz;
    decltype(&host::dn2nz) dn2nz;
    decltype(&host::transpose_b16) transpose_b16;
    decltype(&host::transpose_b8) transpose_b8;
    decltype(&host::transpose_b32) transpose_b32;
    decltype(&host::nz2nd_f32) nz2nd_f32;
    decltype(&host::nz2nd_bf16) nz2nd_bf16;
    decltype(&host::nz2nd_f16) nz2nd_f16;
};

extern const Ops kPortableOps;
#if defined(__x86_64__)
extern const Ops kAvx2Ops;
extern const Ops kAvx512Ops;
extern const Ops kAmxOps;
#elif defined(__aarch64__)
extern const Ops kNeonOps;
#endif

}  // namespace ascend::host
