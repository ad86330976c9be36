// SPDX-License-Identifier: MIT
// What becomes of kernel code that dereferences an address where nothing is? Instructions check what they are given;
// scalar code and vector functions are host code, so the host's own traps must become the launch's error.
#pragma once

namespace ascend {

// Makes SIGSEGV, SIGBUS and SIGFPE raised by a kernel's own code end that kernel with a LaunchError. Its frames are
// abandoned, not unwound: host code has no unwind information for a trap, so destructors of the kernel's locals do not
// run. Traps from anywhere else go to the handler that was there before. Called by every launch: Python's faulthandler,
// when enabled later, puts itself in front.
void install_traps();
// Gives the calling host thread a stack for the handler: a fiber whose stack is full has none left.
void prepare_thread_for_traps();

}  // namespace ascend
