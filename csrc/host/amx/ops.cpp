// SPDX-License-Identifier: MIT
// Which functions does the level "amx" run?
#include "host/ops.h"

#include "host/amx/level.h"
#include "host/avx512/copy.h"
#include "host/avx512/f32x16.h"
#include "host/generic/copy.h"
#include "host/generic/mmad.h"

namespace ascend::host {

const Ops kAmxOps = {
    .mmad = amx_level::mmad,
    .nd2nz = avx512::nd2nz,
    .dn2nz = avx512::dn2nz,
    .store_rows = avx512::store_rows,
    .transpose_b16 = avx512::transpose_b16,
    .transpose_b8 = avx512::transpose_b8,
    .transpose_b32 = generic::transpose<uint32_t>,
    .nz2nd_f32 = avx512::nz2nd<avx512::StoreF32>,
    .nz2nd_bf16 = avx512::nz2nd<avx512::StoreBf16>,
    .nz2nd_f16 = avx512::nz2nd<avx512::StoreF16>,
    .packs = amx_level::packs,
    .packed_tiles = amx_level::packed_tiles,
    .pack_a = amx_level::pack_a,
    .pack_b = amx_level::pack_b,
    .pack_rows_a = amx_level::pack_rows_a,
    .pack_rows_b = amx_level::pack_rows_b,
    .mmad_packed = amx_level::mmad_packed,
    .unpack_bf16 = amx_level::unpack_bf16,
};

}  // namespace ascend::host
