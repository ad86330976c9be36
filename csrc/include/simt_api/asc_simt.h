// SPDX-License-Identifier: MIT
// SIMT built-ins under the header name that kernel sources include.
#pragma once

#include "isa/simt.h"
