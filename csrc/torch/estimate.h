// SPDX-License-Identifier: MIT
// What simulated time an operator is charged that has no kernel for the chip.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ascend::npu {

struct Work {
    uint64_t bytes = 0;         // read + written
    double flops = 0;           // of matrix products
    c10::ScalarType flops_type = c10::ScalarType::Float;
};

// Bytes that a tensor occupies; an expanded one is only read once.
uint64_t bytes_of(const at::Tensor& tensor);
// D[.., m, n] = A[.., m, k] @ B[.., k, n]
double matmul_flops(const at::Tensor& a, const at::Tensor& b);

// Puts the work on the current stream of the device: launch + bytes / HBM rate + FLOPs / cube rate.
void charge(const char* name, int device, const Work& work);

}  // namespace ascend::npu
