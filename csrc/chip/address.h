// SPDX-License-Identifier: MIT
// Whose memory has a kernel got hold of, if it is not the kernel's own? For messages.
#pragma once

#include <cstdint>
#include <string>

namespace ascend {

class Hbm;

// What lies at an address that no live tensor of `own`, the memory of the kernel's device, holds: a tensor of another device, memory of
// the host. Empty where nothing is, or nothing any more. Slow: errors only.
std::string whose_memory(const Hbm& own, uint64_t address);
// The same, or that it belongs to no live tensor.
std::string not_live(const Hbm& own, uint64_t address);

}  // namespace ascend
