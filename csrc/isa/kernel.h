// SPDX-License-Identifier: MIT
// What does a kernel source of ours include? The whole instruction set, and how to be found and launched.
#pragma once

#include "chip/device.h"
#include "chip/kernel_registry.h"
#include "chip/launch.h"
#include "chip/spec.h"
#include "isa/builtin.h"
#include "isa/cube.h"
#include "isa/dma.h"
#include "isa/fixpipe.h"
#include "isa/load.h"
#include "isa/scalar_gm.h"
#include "isa/setup.h"
#include "isa/simd.h"
#include "isa/sync.h"
