// SPDX-License-Identifier: MIT
// The kernel of every ATen operator that has no npu kernel of its own.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <string>

namespace ascend::npu {

// Runs the CPU kernel on zero-copy views of the npu arguments.
void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Calls per operator since the process began or reset_fallback_counts().
std::map<std::string, uint64_t> fallback_counts();
void reset_fallback_counts();

}  // namespace ascend::npu
