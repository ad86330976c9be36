// SPDX-License-Identifier: MIT
// Which line of a kernel's text does an address of its code belong to? For messages; slow.
//
// Note "Source line". The line is one of the kernel's own file. If the code comes from a header, its innermost line there is
// added: "k.cpp:41 (in gemm.h:102)". Where the header's function was inlined, debug information has the whole chain. Where it
// was not, the line is that of its caller: exact while the function is still on the stack, else (an instruction that was put
// off, the table of waits) of each place that calls it: "k.cpp:41 or 57 (in gemm.h:102)". These are found by looking through
// the code for calls, so that issuing an instruction costs nothing for it.
#pragma once

#include <cstdint>
#include <string>

namespace ascend {

// Return addresses of the running stack, innermost first.
struct Frames {
    static constexpr int kMost = 48;
    uint64_t at[kMost];
    int count = 0;
    static Frames here();
};

// `stack`: with the function that the return address leads into on it, or null.
// Module+offset where there is no debug information.
std::string source_line(uint64_t return_address, const Frames* stack = nullptr);

// "asc_loadalign" if the code there was inlined from an instruction, or empty.
std::string instruction_at(uint64_t return_address);

}  // namespace ascend
