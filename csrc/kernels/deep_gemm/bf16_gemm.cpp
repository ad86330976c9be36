// SPDX-License-Identifier: MIT
// bf16_gemm: D[m, n] (+)= alpha * A[m, k] @ B[n, k]^T; A, B bf16 in any major; D bf16 or fp32.
//
// Fields: a, b, d addresses; m, n, k; {a,b}_row_stride, {a,b}_col_stride in elements of the [mn, k] view, one of them 1;
// d_row_stride in elements; d_is_fp32, accumulate 0 or 1; alpha, 1 for none; cores, 0 for all.
#include "kernels/deep_gemm/gemm_kernel.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

const KernelRegistration bf16_gemm("bf16_gemm", ASCEND_SIM_LEVEL_NAME, [](Device& device, int stream, const Fields& fields) {
    FieldReader reader("bf16_gemm", fields);
    run_gemm<bfloat16_t>("bf16_gemm_impl", device, stream, reader);
});

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
