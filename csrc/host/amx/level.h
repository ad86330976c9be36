// SPDX-License-Identifier: MIT
// Which functions of the level "amx" are not those of avx512?
#pragma once

#include "host/packed.h"

namespace ascend::host::amx_level {

void mmad(const MmadArgs& args);
bool packs(ElementType a, ElementType b);
int packed_tiles(ElementType type, int k);
int pack_a(uint8_t* out, int64_t strip_bytes, const PackArgs& args);
int pack_b(uint8_t* out, int64_t strip_bytes, const PackArgs& args);
int pack_rows_a(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args);
int pack_rows_b(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args);
void mmad_packed(const PackedMmadArgs& args);
void unpack_bf16(uint8_t* to, int64_t k_stride_bytes, const PackedOperand& packed, bool is_b, int strips, int k);

}  // namespace ascend::host::amx_level
