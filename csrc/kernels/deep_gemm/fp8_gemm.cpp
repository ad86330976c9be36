// SPDX-License-Identifier: MIT
// fp8_gemm: D[m, n] (+)= alpha * (A * sfa)[m, k] @ (B * sfb)[n, k]^T on the MX MMAD; A, B e4m3 in any major.
//
// Fields: those of bf16_gemm, and sfa, sfb addresses of int16 pairs of e8m0, MN-major [ceil(k/64), mn]; sfa_stride,
// sfb_stride elements between pairs. Even 32-element k blocks are in the low byte (deep_gemm.md 4.4).
#include "kernels/deep_gemm/gemm_kernel.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

const KernelRegistration fp8_gemm("fp8_gemm", ASCEND_SIM_LEVEL_NAME, [](Device& device, int stream, const Fields& fields) {
    FieldReader reader("fp8_gemm", fields);
    for (const char* type : {"a_type", "b_type"})
        if (const int64_t value = reader.integer(type); value != 0)
            throw std::invalid_argument(format("fp8_gemm: %s = %lld; accepted: 0 (e4m3)", type, (long long)value));
    run_gemm<float8_e4m3_t>("fp8_gemm_impl", device, stream, reader);
});

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
