// SPDX-License-Identifier: MIT
// Which scalar functions may kernel code call? The 21 that TileLang names, in fp32 (sqrtf) and fp16 (hsqrt); fp32 ones that the
// host's library has are taken from there (within 2 units in the last place). fp16: computed in fp32, rounded once.
#pragma once

#include <cstddef>
// libstdc++'s Bessel functions and the like would be compiled with every kernel, called or not.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>
#include <math.h>

#include "isa/types.h"

inline float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }

#define ASC_HALF_FUNCTION(name, expression) \
    inline half name(half argument) {       \
        const float x = argument;           \
        return half(expression);            \
    }
ASC_HALF_FUNCTION(hsqrt, sqrtf(x))
ASC_HALF_FUNCTION(hrsqrt, rsqrtf(x))
ASC_HALF_FUNCTION(hexp, expf(x))
ASC_HALF_FUNCTION(hexp2, exp2f(x))
ASC_HALF_FUNCTION(hexp10, exp10f(x))
ASC_HALF_FUNCTION(hlog, logf(x))
ASC_HALF_FUNCTION(hlog2, log2f(x))
ASC_HALF_FUNCTION(hlog10, log10f(x))
ASC_HALF_FUNCTION(hlog1p, log1pf(x))
ASC_HALF_FUNCTION(htanh, tanhf(x))
ASC_HALF_FUNCTION(htan, tanf(x))
ASC_HALF_FUNCTION(hsin, sinf(x))
ASC_HALF_FUNCTION(hcos, cosf(x))
ASC_HALF_FUNCTION(hatan, atanf(x))
ASC_HALF_FUNCTION(herf, erff(x))
ASC_HALF_FUNCTION(hfloor, floorf(x))
ASC_HALF_FUNCTION(hceil, ceilf(x))
ASC_HALF_FUNCTION(hfabs, fabsf(x))
ASC_HALF_FUNCTION(hround, roundf(x))
ASC_HALF_FUNCTION(htrunc, truncf(x))
#undef ASC_HALF_FUNCTION
inline half hatan2(half y, half x) { return half(atan2f(float(y), float(x))); }
