// SPDX-License-Identifier: MIT
// Instructions of the cube under their public names. Sources: ascend950.md 4.2, 4.3; tilelang_ascend.md 5.
#pragma once

#include "formats/element_type.h"
#include "isa/sync.h"

namespace ascend::isa {
struct Mmad {
    bool mx;
    ElementType a_type, b_type;
    int64_t l0a, l0b, l0c, bias_address;
    int64_t m, k, n;
    int unit_flag;
    bool gemv_off, bias, init;
};
void mmad(const Mmad& mmad, const void* pc);
void set_mmad_direction(bool n_first);
void enable_hf32(bool enabled);
void set_hf32_rounding(bool away);

template <class T>
struct ElementOf;
#define ASCEND_SIM_ELEMENT(cpp, element) \
    template <>                          \
    struct ElementOf<cpp> {              \
        static constexpr ElementType value = ElementType::element; \
    };
ASCEND_SIM_ELEMENT(bfloat16_t, bf16)
ASCEND_SIM_ELEMENT(half, f16)
ASCEND_SIM_ELEMENT(float, f32)
ASCEND_SIM_ELEMENT(float8_e4m3_t, e4m3)
ASCEND_SIM_ELEMENT(float8_e5m2_t, e5m2)
ASCEND_SIM_ELEMENT(hifloat8_t, hif8)
ASCEND_SIM_ELEMENT(int8_t, s8)
ASCEND_SIM_ELEMENT(float4_e2m1x2_t, e2m1)
ASCEND_SIM_ELEMENT(float4_e1m2x2_t, e1m2)
#undef ASCEND_SIM_ELEMENT
}  // namespace ascend::isa

// C (+)= A * B^T over fractals; C is fp32, int32 for int8. m, k, n are 0 to 4095, zero is a no-op; C starts at 0 with
// init_zero, or with bias at the n values of C's type at bias_address in BT.
template <class A, class B, class C>
ASCEND_SIM_INSTRUCTION void asc_mmad(C* l0c, const A* l0a, const B* l0b, int64_t m, int64_t k, int64_t n, int unit_flag,
                                     bool gemv_off, bool bias, bool init_zero, uint64_t bias_address = 0) {
    using namespace ascend::isa;
    static_assert(std::is_same_v<C, int32_t> == std::is_same_v<A, int8_t>, "int8 gives int32, everything else fp32");
    mmad({false, ElementOf<A>::value, ElementOf<B>::value, (int64_t)(uintptr_t)l0a, (int64_t)(uintptr_t)l0b,
          (int64_t)(uintptr_t)l0c, (int64_t)bias_address, m, k, n, unit_flag, gemv_off, bias, init_zero || bias},
         ASCEND_SIM_HERE);
}
// Each operand element times 2^(scale - 127), one scale per 32 k, from L0A_MX / L0B_MX at operand address / 16.
template <class A, class B>
ASCEND_SIM_INSTRUCTION void asc_mmad_mx(float* l0c, const A* l0a, const B* l0b, int64_t m, int64_t k, int64_t n,
                                        int unit_flag, bool gemv_off, bool bias, bool init_zero,
                                        uint64_t bias_address = 0) {
    using namespace ascend::isa;
    mmad({true, ElementOf<A>::value, ElementOf<B>::value, (int64_t)(uintptr_t)l0a, (int64_t)(uintptr_t)l0b,
          (int64_t)(uintptr_t)l0c, (int64_t)bias_address, m, k, n, unit_flag, gemv_off, bias, init_zero || bias},
         ASCEND_SIM_HERE);
}

// Order in which an MMAD produces L0C blocks; values do not depend on it, the overlap through unit flags does.
inline void asc_set_mmad_direction_n() { ascend::isa::set_mmad_direction(true); }
inline void asc_set_mmad_direction_m() { ascend::isa::set_mmad_direction(false); }

// fp32 operands rounded to 10 mantissa bits and multiplied at eight times the rate.
inline void asc_enable_hf32() { ascend::isa::enable_hf32(true); }
inline void asc_disable_hf32() { ascend::isa::enable_hf32(false); }
inline void asc_set_hf32_round_mode(asc_hf32_round_mode mode) { ascend::isa::set_hf32_rounding(mode == NEAREST_AWAY); }
