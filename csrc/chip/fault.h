// SPDX-License-Identifier: MIT
// What does a broken kernel get? One exception that names kernel, core, pipe, instruction, address or flag, and line.
#pragma once

#include <stdexcept>
#include <string>

namespace ascend {

class LaunchError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace ascend
