// SPDX-License-Identifier: MIT
// Which functions does the level "avx512" run?
#include "host/ops.h"

#include "host/avx512/copy.h"
#include "host/avx512/f32x16.h"
#include "host/generic/copy.h"
#include "host/generic/mmad.h"

namespace ascend::host {

const Ops kAvx512Ops = {
    .mmad = generic::mmad,
    .nd2nz = avx512::nd2nz,
    .dn2nz = avx512::dn2nz,
    .store_rows = avx512::store_rows,
    .transpose_b16 = avx512::transpose_b16,
    .transpose_b8 = avx512::transpose_b8,
    .transpose_b32 = generic::transpose<uint32_t>,
    .nz2nd_f32 = avx512::nz2nd<avx512::StoreF32>,
    .nz2nd_bf16 = avx512::nz2nd<avx512::StoreBf16>,
    .nz2nd_f16 = avx512::nz2nd<avx512::StoreF16>,
};

}  // namespace ascend::host
