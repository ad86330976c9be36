// SPDX-License-Identifier: MIT
// The x86 intrinsics, without GCC 12's false alarms: its headers initialise "undefined" registers with
// themselves and warn about it.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
