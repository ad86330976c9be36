// SPDX-License-Identifier: MIT
// Every vector wrapper of the wheel's templates, instantiated: does the instruction behind each exist, for each type?
// Compiled only (test_wheel_wrappers.py). Left out: vsts_intlv, whose instruction is refused by name (docs/isa.md).
#include <tl_templates/ascend/common.h>
#include <tl_templates/ascend/debug.h>
#include <tl_templates/ascend/gemm.h>
#include <tl_templates/ascend/nd2nz_copy.h>
#include <tl_templates/ascend/simd_inst.h>

template <typename T>
void every_type(T* p) {
    vector_bool m = asc_create_mask_b32(PAT_ALL), k;
    auto a = V::vlds_norm<T>(p, 0), b = V::vlds_brc_elem<T>(p, 0);
    a = V::vlds_upsample<T>(p, 0);
    a = V::vlds_downsample<T>(p, 0);
    a = V::vlds_unpack<T>(p, 0);
    a = V::vlds_brc_datablock<T>(p, 0);
    a = V::vlds_brc_elem2datablock<T>(p, 0);
    auto moved = V::vlds_norm_postupdate<T>(p, 64);
    moved = V::vlds_unpack_postupdate<T>(moved.v1, 64);
    auto pair = V::vld_x2<T>(p, DINTLV_B16);
    pair = V::vld_x2<T>(p, asc_update_addr_reg_b16(4), DINTLV_B16);
    pair = V::vintlv(a, b);
    pair = V::vdintlv(pair.v0, moved.v0);
    a = V::vadd(pair.v1, b, m, MODE_ZEROING);
    a = V::vadd(a, a, b, m, MODE_MERGING);
    a = V::vsub(a, b, m, MODE_ZEROING);
    a = V::vmul(a, b, m, MODE_ZEROING);
    a = V::vmax(a, b, m, MODE_ZEROING);
    a = V::vmin(a, b, m, MODE_ZEROING);
    a = V::vadds(a, T(1), m, MODE_ZEROING);
    a = V::vmuls(a, T(2), m, MODE_ZEROING);
    a = V::vmaxs(a, T(1), m, MODE_ZEROING);
    a = V::vmins(a, T(2), m, MODE_ZEROING);
    k = V::vcmp_eq(a, b, m);
    k = V::vcmp_lt(a, b, k);
    k = V::vcmps_ge(a, T(1), k);
    a = V::vsel(a, b, k);
    a = V::vdup<T>(T(3), m, MODE_ZEROING);
    a = V::vdup<T>(a, T(3), m, MODE_MERGING);
    a = V::vdupv(a, m, POS_LOWEST, MODE_ZEROING);
    a = V::vdupv(a, a, m, POS_HIGHEST, MODE_MERGING);
    a = V::vcmax(a, m, MODE_ZEROING);
    a = V::vcmin(a, a, m, MODE_MERGING);
    auto sum = V::vcadd(a, m, MODE_ZEROING);
    sum = V::vcadd(sum, a, m, MODE_MERGING);
    a = V::vcgmax(a, m, MODE_ZEROING);
    a = V::vcgmin(a, m, MODE_ZEROING);
    a = V::vcgadd(a, m, MODE_ZEROING);
    a = V::vsqz(a, m, MODE_ZEROING);
    a = V::vci<T>(T(0), INC_ORDER);
    a = V::vci<T>(T(5), DEC_ORDER);
    V::vmula(&a, b, b, m, MODE_ZEROING);
    V::vmadd(&a, b, b, m, MODE_MERGING);
    V::vaxpy(&a, b, T(2), m, MODE_ZEROING);
    V::vaxpy(a, b, T(2), m, MODE_MERGING);
    V::vsts_norm(a, p, 0, m);
    V::vsts_1st(a, p, 0, m);
    V::vsstb(a, p, (5 << 16) | 1, m);
    p = V::vsstb(a, p, (5 << 16) | 1, m, POST_UPDATE);
    V::mem_bar(VST_VLD);
    debug_print_var("value", T(1));
    ::vadds(a, a, T(1), m, MODE_MERGING);  // the raw forms that the generator writes under merging
    ::vsub(a, a, b, m, MODE_MERGING);
    ::vcmax(a, a, m, MODE_MERGING);
    ::vcadd(sum, a, m, MODE_MERGING);
    ::vdup(a, T(2), m, MODE_MERGING);
    ::vdup(a, b, m, POS_LOWEST, MODE_MERGING);
    V::vsts_norm(a, p, 0, m);
}

template <typename T>
void every_float(T* p) {
    vector_bool m = asc_create_mask_b16(PAT_ALL);
    auto a = V::vlds_norm<T>(p, 0), b = a;
    a = V::vdiv(a, b, m, MODE_ZEROING);
    a = V::vexp(a, m, MODE_ZEROING);
    a = V::vln(a, a, m, MODE_MERGING);
    a = V::vsqrt(a, m, MODE_ZEROING);
    a = V::vabs(a, m, MODE_ZEROING);
    a = V::vneg(a, m, MODE_ZEROING);
    a = V::vrelu(a, m, MODE_ZEROING);
    a = V::vabsdif(a, b, m, MODE_ZEROING);
    a = V::vexpdif(a, b, m);
    a = V::vlrelu(a, T(0.1f), m);
    a = V::vprelu(a, b, m);
    a = V::vcpadd(a, m, MODE_ZEROING);
    ::vexp(a, a, m, MODE_MERGING);
    V::vsts_norm(a, p, 0, m);
}

template <typename T>
void every_integer(T* p) {
    vector_bool m = asc_create_mask_b8(PAT_ALL);
    auto a = V::vlds_norm<T>(p, 0), b = a;
    a = V::vand(a, b, m, MODE_ZEROING);
    a = V::vor(a, b, m, MODE_ZEROING);
    a = V::vxor(a, b, m, MODE_ZEROING);
    a = V::vshl(a, b, m, MODE_ZEROING);
    a = V::vshr(a, b, m, MODE_ZEROING);
    a = V::vshls(a, 1, m, MODE_ZEROING);
    a = V::vshrs(a, int16_t(1), m, MODE_ZEROING);
    a = V::vnot(a, m, MODE_ZEROING);
    b = V::vusqz<T>(m);
    ::vshls(a, b, 1, m, MODE_MERGING);
    V::vsts_norm(a, p, 0, m);
}

void all_wrappers(float* pf, half* ph, bfloat16_t* pb, int32_t* i4, uint32_t* u4, int16_t* i2, uint16_t* u2, int8_t* i1,
                  uint8_t* u1, fp8_e4_t* e4, float4_e2m1x2_t* f4) {
    every_type(pf), every_type(ph), every_type(pb), every_type(i4), every_type(u4), every_type(i2), every_type(u2);
    every_float(pf), every_float(ph), every_float(pb);
    every_integer(i4), every_integer(u4), every_integer(i2), every_integer(u2), every_integer(i1), every_integer(u1);

    vector_bool m = asc_create_mask_b32(PAT_ALL), k;
    auto a = V::vlds_norm<float>(pf, 0);
    a = V::vdiv_0ulp_ftz_true(a, a, m, MODE_ZEROING);
    a = V::vdiv_0ulp_ftz_true(a, a, a, m, MODE_MERGING);
    a = V::vexp_1ulp_ftz_false(a, m, MODE_ZEROING);
    a = V::vln_1ulp_ftz_false(a, m, MODE_ZEROING);
    a = V::vsqrt_0ulp_ftz_false(a, m, MODE_ZEROING);
    V::vsts_norm(a, pf, 0, m);

    auto u = V::vlds_norm<uint32_t>(u4, 0);
    auto h = V::vlds_norm<uint16_t>(u2, 0);
    auto c = V::vlds_norm<uint8_t>(u1, 0);
    auto carry = V::vaddc(u, u, m);
    carry = V::vsubc(carry.v1, u, m);
    carry = V::vaddcs(carry.v1, u, carry.v0, m);
    carry = V::vsubcs(carry.v1, u, carry.v0, m);
    auto product = V::vmull(u, carry.v1, m);
    h = V::vpack<uint16_t>(product.v0, LOWER);
    h = V::vpack<uint16_t>(u, HIGHER);
    u = V::vunpack(h, LOWER);
    c = V::vpack<uint8_t>(h, LOWER);
    h = V::vunpack(c, HIGHER);
    u = V::vgather2(u4, u, m);
    h = V::vgather2(u1, h, m);
    a = V::vgather2(pf, u, m);
    V::vscatter(u, u4, u, m);
    V::vscatter(a, pf, u, m);
    u = V::vselr(u, u);
    auto b16 = V::vselr(V::vlds_norm<bfloat16_t>(pb, 0), h);

    k = V::pand(m, m, m);
    k = V::por(k, m, m);
    k = V::pxor(k, m, m);
    k = V::pnot(k, m);
    k = V::psel(k, m, m);
    k = V::ppack(k, LOWER);
    k = V::punpack(k, HIGHER);
    auto masks = V::pintlv_b16(k, m);
    masks = V::pdintlv_b32(masks.v0, masks.v1);
    k = V::update_mask_b8(5);
    k = V::update_mask_b16(5);
    k = V::update_mask_b32(7);
    k = V::plds_norm(u4, 0);
    k = V::plds_upsample(u4, 0);
    k = V::plds_downsample(u4, 0);
    V::psts_norm(k, u4, 0);
    V::psts_pack(masks.v0, u4, 0);
    V::dhistv2(&h, c, m, Bin_N0);
    V::chistv2(&h, c, m, Bin_N1);

    V::vsts_pack_b16(h, u2, 0, m);
    V::vsts_pack_b32(u, u4, 0, m);
    V::vsts_pack_b32(b16, pb, 0, m);
    V::vsts_pack_quarter(u, u4, 0, m);
    V::vsts_pack_quarter(a, pf, 0, m);
    V::vsts_pack_quarter(V::vlds_norm<int32_t>(i4, 0), i4, 0, m);
    V::vsts_pack_quarter(c, u1, 0, m);
    V::vsts_pack_quarter(V::vlds_unpack4<fp8_e4_t>(e4, 0), e4, 0, m);
    V::vsts_pack_quarter(V::vlds_unpack4<float4_e2m1x2_t>(f4, 0), f4, 0, m);

    auto f8 = V::vlds_unpack4<fp8_e4_t>(e4, 0);
    auto wide = V::vcvt<float>(f8, m, PART_P0, MODE_ZEROING);
    f8 = V::vcvt<fp8_e4_t>(wide, m, ROUND_R, RS_ENABLE, PART_P1, MODE_ZEROING);
    V::vsts_norm<fp8_e4_t>(f8, e4, 0, m);
    auto e5 = V::vcvt<float8_e5m2_t>(wide, m, ROUND_R, RS_ENABLE, PART_P1, MODE_ZEROING);
    e5 = V::vcvt<fp8_e5_t>(wide, m, ROUND_R, RS_ENABLE, PART_P1, MODE_ZEROING);
    wide = V::vcvt<float>(e5, m, PART_P2, MODE_ZEROING);
    b16 = V::vcvt<bfloat16_t>(wide, m, ROUND_R, RS_DISABLE, PART_EVEN, MODE_ZEROING);
    auto fp4 = V::vcvt<float4_e2m1x2_t>(b16, m, ROUND_R, PART_P0, MODE_ZEROING);
    b16 = V::vcvt<bfloat16_t>(fp4, m, PART_P0, MODE_ZEROING);
    V::vsts_norm(V::vcvt<half>(b16, m, RS_ENABLE, ROUND_R, MODE_ZEROING), ph, 0, m);
    auto whole = V::vcvt<int32_t>(wide, m, ROUND_R, RS_ENABLE, MODE_ZEROING);
    V::vsts_norm(V::vcvt<float>(whole, m, ROUND_R, MODE_ZEROING), pf, 0, m);

    ascend_nd2nz_scatter<32, 128, float, bfloat16_t>(pf, pb);
    ascend_nd2nz_scatter<32, 64, bfloat16_t, bfloat16_t>(pb, pb);
    ascend_nd2nz_scatter<32, 128, bfloat16_t, float>(pb, pf);
    device_assert(true);
    device_assert_with_msg(false, "text");
    debug_print_msg("text");
    fp8_e5_t scalar(1.5f);
    pf[0] = float(scalar) + half(1.5f);
    pf[1] = max(half(1.5f), 2.0f) + min(3, 4u);
}
