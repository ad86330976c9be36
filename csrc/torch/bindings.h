// SPDX-License-Identifier: MIT
// The parts of the extension module that live in files of their own.
#pragma once

#include <pybind11/pybind11.h>

namespace ascend::npu {

void bind_runtime(pybind11::module_& module);   // launches, modes, profiles: runtime_bindings.cpp
void bind_process_group(pybind11::module_& module);     // process_group_bindings.cpp

}  // namespace ascend::npu
