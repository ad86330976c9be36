// SPDX-License-Identifier: MIT
// The SIMD vector instructions, header-inline at the level of the including translation unit (host/vec.h).
// Coverage: docs/isa.md. Facts: tilelang_ascend.md 5, ascend950.md 5.1.
#pragma once

#include "isa/simd_arithmetic.h"
#include "isa/simd_convert.h"
#include "isa/simd_mask.h"
#include "isa/simd_memory.h"
#include "isa/simd_merge.h"
#include "isa/simd_permute.h"
#include "isa/simd_reduce.h"
