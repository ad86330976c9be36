// SPDX-License-Identifier: MIT
// Which functions of the level "amx" are not those of avx512?
#pragma once

#include "host/host.h"

namespace ascend::host::amx_level {

void mmad(const MmadArgs& args);

}  // namespace ascend::host::amx_level
