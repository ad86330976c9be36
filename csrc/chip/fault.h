// SPDX-License-Identifier: MIT
// What does a broken kernel get? One exception that names kernel, core, pipe, instruction, address or flag, and line.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ascend {

class LaunchError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// "bf16_gemm.cpp:118" for a return address, or module+offset where there is no debug information. Slow: errors only.
std::string source_line(uint64_t return_address);

// "asc_loadalign" if the code there was inlined from an instruction, or empty. Slow: errors only.
std::string instruction_at(uint64_t return_address);

}  // namespace ascend
