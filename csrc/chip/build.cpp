// SPDX-License-Identifier: MIT
// Which version and which headers was this library built from? ascend_sim/jit/built.py compares it with the headers that kernels include.

#ifndef ASCEND_SIM_BUILD
#error "csrc/Makefile defines it: version and hash of the headers"
#endif

extern "C" const char* ascend_sim_build() { return ASCEND_SIM_BUILD; }
