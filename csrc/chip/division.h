// SPDX-License-Identifier: MIT
// What does an integer division give that the host's processor refuses?
#pragma once

#include <ucontext.h>

namespace ascend {

// The machine has trapped at an integer division. If it is one that can be read, gives it the values that follow, puts the machine
// behind it and returns true: by zero the quotient is 0 and the remainder the dividend; of the most negative integer by -1 the quotient
// is the dividend and the remainder 0. So aarch64's processors answer, which do not trap; the chip's own answer is not published.
// Called in a signal handler: it allocates nothing and takes no lock.
bool divide_without_trap(mcontext_t& machine);

}  // namespace ascend
