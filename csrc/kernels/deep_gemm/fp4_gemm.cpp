// SPDX-License-Identifier: MIT
// fp4_gemm: D[m, n] (+)= alpha * (A * sfa)[m, k] @ (B * sfb)[n, k]^T on the MX MMAD; A, B e2m1 in any major.
//
// Fields: those of fp8_gemm without a_type and b_type. Two elements a byte along the unit-stride axis, the even
// one in the low nibble: m, n, k count elements, strides count bytes.
#include "kernels/deep_gemm/gemm_kernel.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

const KernelRegistration fp4_gemm(
    "fp4_gemm", ASCEND_SIM_LEVEL_NAME, [](Device& device, int stream, const Fields& fields) {
        FieldReader reader("fp4_gemm", fields);
        run_gemm<float4_e2m1x2_t>("fp4_gemm_impl", device, stream, reader);
    });

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
