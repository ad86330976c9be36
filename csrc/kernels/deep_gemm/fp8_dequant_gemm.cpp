// SPDX-License-Identifier: MIT
// fp8_dequant_gemm: D[m, n] (+)= alpha * (A * sfa)[m, k] @ (B * sfb)[n, k]^T; A e4m3, B e2m1 in any major. Vector
// cores expand B to e4m3, which is exact (dequant.h); the MX MMAD multiplies fp8 x fp8 with B's own scales.
//
// Fields: those of fp4_gemm.
#include "kernels/deep_gemm/gemm_kernel.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

const KernelRegistration fp8_dequant_gemm(
    "fp8_dequant_gemm", ASCEND_SIM_LEVEL_NAME, [](Device& device, int stream, const Fields& fields) {
        FieldReader reader("fp8_dequant_gemm", fields);
        run_gemm<float8_e4m3_t, float4_e2m1x2_t>("fp8_dequant_gemm_impl", device, stream, reader);
    });

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
