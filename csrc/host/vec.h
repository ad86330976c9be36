// SPDX-License-Identifier: MIT
// Which host vectors do the header-inline vector instructions use in this translation unit? Those of its compile flags.
//
// A level's vec.h gives the chunk size and the few operations that GCC's generic vectors lack or do badly; everything
// else is written once over generic vectors (isa/simd_*.h). Names are in an inline namespace per level, so that one
// library can hold kernels compiled for several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define ASCEND_SIM_VEC level_avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define ASCEND_SIM_VEC level_avx2
#else
#define ASCEND_SIM_VEC level_portable
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "host/avx512/vec.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "host/avx2/vec.h"
#include "host/generic_lanes.h"
#else
#include "host/portable/vec.h"
#include "host/generic_lanes.h"
#endif
