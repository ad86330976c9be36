// SPDX-License-Identifier: MIT
// Which code calls a function? For messages; slow.
#pragma once

#include <cstdint>
#include <vector>

namespace ascend {

// Where the function begins that the return address leads into; its part for unlikely code counts as one of its own. 0: unknown.
uint64_t function_at(uint64_t return_address);

// Return addresses of all places in its module that call this function, or go on in it. Calls through pointers are not seen.
std::vector<uint64_t> callers_of(uint64_t function);

}  // namespace ascend
