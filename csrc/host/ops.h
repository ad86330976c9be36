// SPDX-License-Identifier: MIT
// What must a host level provide? One table of functions per level; select.cpp alone chooses among them.
#pragma once

#include "host/copy.h"
#include "host/host.h"
#include "host/packed.h"

namespace ascend::host {

struct Ops {
    void (*mmad)(const MmadArgs&);
    decltype(&host::nd2nz) nd2nz;
    decltype(&host::dn2nz) dn2nz;
    decltype(&host::store_rows) store_rows;
    decltype(&host::transpose_b16) transpose_b16;
    decltype(&host::transpose_b8) transpose_b8;
    decltype(&host::transpose_b32) transpose_b32;
    decltype(&host::nz2nd_f32) nz2nd_f32;
    decltype(&host::nz2nd_bf16) nz2nd_bf16;
    decltype(&host::nz2nd_f16) nz2nd_f16;
    // Of a level with a matrix unit; else null.
    decltype(&host::packs) packs = nullptr;
    decltype(&host::packed_tiles) packed_tiles = nullptr;
    decltype(&host::pack_a) pack_a = nullptr;
    decltype(&host::pack_b) pack_b = nullptr;
    decltype(&host::pack_rows_a) pack_rows_a = nullptr;
    decltype(&host::pack_rows_b) pack_rows_b = nullptr;
    decltype(&host::mmad_packed) mmad_packed = nullptr;
    decltype(&host::unpack_bf16) unpack_bf16 = nullptr;
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
