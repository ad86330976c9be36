// SPDX-License-Identifier: MIT
// The whole instruction set under the header name that kernel sources include.
#pragma once

#include "isa/builtin.h"
#include "isa/cube.h"
#include "isa/dma.h"
#include "isa/fixpipe.h"
#include "isa/img2col.h"
#include "isa/load.h"
#include "isa/scalar_gm.h"
#include "isa/setup.h"
#include "isa/simd.h"
#include "isa/sync.h"
#include "isa/types.h"

namespace AscendC {}  // named by a using-directive of the wheel's templates
namespace __asc_aicore {}
using namespace __asc_aicore;  // debug functions exist here for scalar code and in another namespace for SIMT code

// A failed assertion ends the launch, not the process.
#undef assert
#define assert(condition) ((condition) ? (void)0 : ascend::isa::device_assert_failed(#condition))
#define printf(...) ascend::isa::device_printf(__VA_ARGS__)
