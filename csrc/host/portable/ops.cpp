// SPDX-License-Identifier: MIT
// Which functions does the level "portable" run?
#include "host/ops.h"

#include "host/portable/f32x16.h"
#include "host/generic/copy.h"
#include "host/generic/mmad.h"

namespace ascend::host {

const Ops kPortableOps = {
    .mmad = generic::mmad,
    .nd2nz = generic::nd2nz,
    .dn2nz = generic::dn2nz,
    .store_rows = generic::store_rows,
    .transpose_b16 = generic::transpose<uint16_t>,
    .transpose_b8 = generic::transpose<uint8_t>,
    .transpose_b32 = generic::transpose<uint32_t>,
    .nz2nd_f32 = generic::nz2nd<generic::StoreF32>,
    .nz2nd_bf16 = generic::nz2nd<generic::StoreBf16>,
    .nz2nd_f16 = generic::nz2nd<generic::StoreF16>,
};

}  // namespace ascend::host
