// SPDX-License-Identifier: MIT
// The x86 intrinsics, without GCC 12's false alarms: its headers initialise "undefined" registers with
// themselves and warn about it.
#pragma once

#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
