// SPDX-License-Identifier: MIT
// Scalar and pair types of SIMT code under the header name that kernel sources include.
#pragma once

#include "isa/simt_types.h"
