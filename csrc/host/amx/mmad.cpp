// SPDX-License-Identifier: MIT
// How does an MMAD run on AMX tiles? Strips are packed, then 2 x 2 tiles of C stay in registers over the
// whole k, of one MMAD or of several.
#include "host/avx512/intrinsics.h"

#include "host/avx512/f32x16.h"

#include "host/amx/level.h"
#include "host/amx/pack_narrow.h"
#include "host/amx/pack_raw.h"
#include "host/amx/pack_split.h"

namespace ascend::host::amx_level {
namespace {

using namespace amx;
using generic::ceil_div;
using generic::FmaOperands;

// Palette 1, eight tiles of 16 rows x 64 bytes.
struct alignas(64) TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Loading a configuration takes 70 ns, comparing the present one 10. It stays loaded, as oneDNN leaves its
// own, which another operator on this thread may have done in between.
void configure_tiles() {
    static const TileConfig wanted;
    alignas(64) TileConfig present;
    _tile_storeconfig(&present);
    if (std::memcmp(&present, &wanted, sizeof wanted)) _tile_loadconfig(&wanted);
}

// C, fractal by fractal. The result of a fractal that is not wholly live goes through `edge`.
struct COfCall {
    float* c;
    int m, n;
    bool init;
    const float* all_bias;
    int m1_count = ceil_div(m, 16);
    alignas(64) float last_bias[16] = {};

    COfCall(float* c_, int m_, int n_, bool init_, const float* bias_)
        : c(c_), m(m_), n(n_), init(init_), all_bias(bias_) {
        if (bias_ && n % 16)
            std::memcpy(last_bias, bias_ + n / 16 * 16, sizeof(float) * static_cast<size_t>(n % 16));
    }
    float* at(int m1, int n1) const { return c + (static_cast<int64_t>(n1) * m1_count + m1) * 256; }
    const float* bias(int n1) const { return n1 * 16 + 16 <= n ? all_bias + n1 * 16 : last_bias; }
    bool whole(int m1, int n1) const { return m1 * 16 + 16 <= m && n1 * 16 + 16 <= n; }
    void copy_live(float* to, const float* from, int m1, int n1) const {
        const int rows = m - m1 * 16 < 16 ? m - m1 * 16 : 16, columns = n - n1 * 16 < 16 ? n - n1 * 16 : 16;
        for (int i = 0; i < rows; ++i)
            std::memcpy(to + i * 16, from + i * 16, sizeof(float) * static_cast<size_t>(columns));
    }
};

// Fractals of C without AMX.
struct Exact {
    const MmadArgs& args;
    mutable FmaOperands operands{args};
    const bool has_large_scale = generic::has_large_scale(generic::operand_a(args)) ||
                                 generic::has_large_scale(generic::operand_b(args));

    void fractal(int m1, int n1) const {
        if (has_large_scale)
            generic::wide_block(args, m1, n1);
        else
            generic::fma_blocks<1>(args, operands, m1, n1);
    }
};

// Tile numbers are literals in the instructions: C is tile 2i + j, strip i of A is tile 4 + i, strip j of B
// is tile 6 + j.
#define ASCEND_AMX_LOAD_C(tile, i, j)                                      \
    do {                                                                   \
        if (!c.init)                                                       \
            _tile_loadd(tile, c.at(m1 + i, n1 + j), 64);                   \
        else if (c.all_bias)                                               \
            _tile_loadd(tile, c.bias(n1 + j), 0); /* every row the same */ \
        else                                                               \
            _tile_zero(tile);                                              \
    } while (0)
#define ASCEND_AMX_STORE_C(tile, i, j)                               \
    do {                                                             \
        if (c.whole(m1 + i, n1 + j)) {                               \
            _tile_stored(tile, c.at(m1 + i, n1 + j), 64);            \
        } else {                                                     \
            _tile_stored(tile, edge, 64);                            \
            c.copy_live(c.at(m1 + i, n1 + j), edge, m1 + i, n1 + j); \
        }                                                            \
    } while (0)
#define ASCEND_AMX_MULTIPLY(tile, a_tile, b_tile) \
    do {                                          \
        if constexpr (kS8)                        \
            _tile_dpbssd(tile, a_tile, b_tile);   \
        else                                      \
            _tile_dpbf16ps(tile, a_tile, b_tile); \
    } while (0)

using Factor = PackedProduct;

// kM x kN fractals of C, complete when it returns.
template <bool kS8, int kM, int kN>
void multiply(const COfCall& c, const Factor* factors, int count, int m1, int n1) {
    alignas(64) float edge[256];
    ASCEND_AMX_LOAD_C(0, 0, 0);
    if constexpr (kN == 2) ASCEND_AMX_LOAD_C(1, 0, 1);
    if constexpr (kM == 2) ASCEND_AMX_LOAD_C(2, 1, 0);
    if constexpr (kM == 2 && kN == 2) ASCEND_AMX_LOAD_C(3, 1, 1);
    for (int f = 0; f < count; ++f) {
        const int64_t a_strip = factors[f].a.strip_bytes, b_strip = factors[f].b.strip_bytes;
        const uint8_t* a = factors[f].a.data + m1 * a_strip;
        const uint8_t* b = factors[f].b.data + n1 * b_strip;
        for (int t = 0; t < factors[f].tiles; ++t, a += kTileBytes, b += kTileBytes) {
            _tile_loadd(4, a, 64);
            _tile_loadd(6, b, 64);
            if constexpr (kM == 2) _tile_loadd(5, a + a_strip, 64);
            if constexpr (kN == 2) _tile_loadd(7, b + b_strip, 64);
            ASCEND_AMX_MULTIPLY(0, 4, 6);
            if constexpr (kN == 2) ASCEND_AMX_MULTIPLY(1, 4, 7);
            if constexpr (kM == 2) ASCEND_AMX_MULTIPLY(2, 5, 6);
            if constexpr (kM == 2 && kN == 2) ASCEND_AMX_MULTIPLY(3, 5, 7);
        }
    }
    ASCEND_AMX_STORE_C(0, 0, 0);
    if constexpr (kN == 2) ASCEND_AMX_STORE_C(1, 0, 1);
    if constexpr (kM == 2) ASCEND_AMX_STORE_C(2, 1, 0);
    if constexpr (kM == 2 && kN == 2) ASCEND_AMX_STORE_C(3, 1, 1);
}

// 2 x 2 whole fractals of C; their tiles stay in registers until the next block wants those. A tile store
// occupies the core for 16 cycles and overlaps only with multiplications of other tiles: at k = 64 and C in
// the second-level cache, storing tile by tile between the next block's first products took 3.6 us instead
// of 4.7 for 256 x 128.
struct Pending {
    float* left = nullptr;  // column of two fractals in tiles 0 and 2, and the one beside it in tiles 1 and 3
    float* right = nullptr;

    void store() {
        if (!left) return;
        _tile_stored(0, left, 64);
        _tile_stored(1, right, 64);
        _tile_stored(2, left + 256, 64);
        _tile_stored(3, right + 256, 64);
        left = right = nullptr;
    }
};

template <bool kS8>
void multiply_2x2(const COfCall& c, const Factor* factors, int count, int m1, int n1, Pending& pending) {
    int64_t a_strip = factors->a.strip_bytes, b_strip = factors->b.strip_bytes;
    const uint8_t* a = factors->a.data + m1 * a_strip;
    const uint8_t* b = factors->b.data + n1 * b_strip;
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + b_strip, 64);
    _tile_loadd(5, a + a_strip, 64);
    if (pending.left) _tile_stored(0, pending.left, 64);
    ASCEND_AMX_LOAD_C(0, 0, 0);
    ASCEND_AMX_MULTIPLY(0, 4, 6);
    if (pending.left) _tile_stored(1, pending.right, 64);
    ASCEND_AMX_LOAD_C(1, 0, 1);
    ASCEND_AMX_MULTIPLY(1, 4, 7);
    if (pending.left) _tile_stored(2, pending.left + 256, 64);
    ASCEND_AMX_LOAD_C(2, 1, 0);
    ASCEND_AMX_MULTIPLY(2, 5, 6);
    if (pending.left) _tile_stored(3, pending.right + 256, 64);
    ASCEND_AMX_LOAD_C(3, 1, 1);
    ASCEND_AMX_MULTIPLY(3, 5, 7);
    for (int f = 0, t = 1;; t = 0) {
        for (; t < factors[f].tiles; ++t) {
            const uint8_t* a_tile = a + t * kTileBytes;
            const uint8_t* b_tile = b + t * kTileBytes;
            _tile_loadd(4, a_tile, 64);
            _tile_loadd(6, b_tile, 64);
            _tile_loadd(7, b_tile + b_strip, 64);
            _tile_loadd(5, a_tile + a_strip, 64);
            ASCEND_AMX_MULTIPLY(0, 4, 6);
            ASCEND_AMX_MULTIPLY(1, 4, 7);
            ASCEND_AMX_MULTIPLY(2, 5, 6);
            ASCEND_AMX_MULTIPLY(3, 5, 7);
        }
        if (++f == count) break;
        a_strip = factors[f].a.strip_bytes, b_strip = factors[f].b.strip_bytes;
        a = factors[f].a.data + m1 * a_strip;
        b = factors[f].b.data + n1 * b_strip;
    }
    pending = {c.at(m1, n1), c.at(m1, n1 + 1)};
}

// All of C, from operands whose products the unit may take.
template <bool kS8>
void multiply_all(const COfCall& c, const Factor* factors, int count) {
    const int m1_count = ceil_div(c.m, 16), n1_count = ceil_div(c.n, 16);
    configure_tiles();
    Pending pending;
    for (int m1 = 0; m1 < m1_count; m1 += 2) {
        for (int n1 = 0; n1 < n1_count; n1 += 2) {
            const int m_tiles = m1 + 1 < m1_count ? 2 : 1, n_tiles = n1 + 1 < n1_count ? 2 : 1;
            if (m_tiles == 2 && n_tiles == 2 && c.whole(m1 + 1, n1 + 1)) {
                multiply_2x2<kS8>(c, factors, count, m1, n1, pending);
                continue;
            }
            pending.store();
            if (m_tiles == 2 && n_tiles == 2) multiply<kS8, 2, 2>(c, factors, count, m1, n1);
            if (m_tiles == 2 && n_tiles == 1) multiply<kS8, 2, 1>(c, factors, count, m1, n1);
            if (m_tiles == 1 && n_tiles == 2) multiply<kS8, 1, 2>(c, factors, count, m1, n1);
            if (m_tiles == 1 && n_tiles == 1) multiply<kS8, 1, 1>(c, factors, count, m1, n1);
        }
    }
    pending.store();
}

// Fractal by fractal: some pairs of strips are not for the unit.
template <bool kS8>
void multiply_mixed(const COfCall& c, const Exact& exact, const Factor& factor, const int* a_exponents,
                    const int* b_exponents) {
    configure_tiles();
    for (int m1 = 0; m1 < ceil_div(c.m, 16); ++m1)
        for (int n1 = 0; n1 < ceil_div(c.n, 16); ++n1) {
            if (exact_together(a_exponents[m1], b_exponents[n1]))
                multiply<kS8, 1, 1>(c, &factor, 1, m1, n1);
            else
                exact.fractal(m1, n1);
        }
}

// ---- packing --------------------------------------------------------------------------------------------------------

// Returns the least of the strips' exponents; all of them go to `exponents` unless it is null.
template <bool kIsA, typename Packer>
int pack_with(uint8_t* out, int64_t strip_bytes, const Packer& packer, int strips, int* exponents) {
    const int tiles = packer.tiles();
    int least = StripRange::kAllZero;
    for (int strip = 0; strip < strips; ++strip, out += strip_bytes) {
        typename Packer::Seen seen = {};
        for (int t = 0; t < tiles; ++t) {
            if constexpr (kIsA)
                packer.pack_a(out + t * kTileBytes, strip, t, seen);
            else
                packer.pack_b(out + t * kTileBytes, strip, t, seen);
        }
        const int exponent = packer.range(seen).unit_exponent;
        if (exponents) exponents[strip] = exponent;
        if (exponent < least) least = exponent;
    }
    return least;
}

// f(packer) with the packer of the operand's type, if there is one.
template <typename F>
void with_packer(const Operand& x, F f) {
    using enum ElementType;
    switch (x.type) {
        case bf16: return f(RawBytes<bf16>{x});
        case s8: return f(RawBytes<s8>{x});
        case f16: return f(SplitInTwo<f16>{x});
        case hf32: return f(SplitInTwo<hf32>{x});
        case hif8: return f(Fp8<hif8, false>{x});
        case e4m3: return x.scale ? f(Fp8<e4m3, true>{x}) : f(Fp8<e4m3, false>{x});
        case e5m2: return x.scale ? f(Fp8<e5m2, true>{x}) : f(Fp8<e5m2, false>{x});
        case e2m1: return f(Fp4<e2m1, true>{x});
        case e1m2: return f(Fp4<e1m2, true>{x});
        default: return;
    }
}

template <bool kIsA>
int pack(uint8_t* out, int64_t strip_bytes, const Operand& x, int* exponents = nullptr) {
    int least = StripRange::kUnsafe;
    with_packer(x, [&](const auto& packer) {
        least = pack_with<kIsA>(out, strip_bytes, packer, x.strips(), exponents);
    });
    return least;
}

Operand operand_of(const PackArgs& args) {
    return {args.data, args.scale, args.type, args.rows, args.k, args.hf32_rounding, args.k_stride_bytes};
}

}  // namespace

bool packs(ElementType a, ElementType b) {
    using enum ElementType;
    if (a == b) return a != f32 && a != s32;
    const auto ocp8 = [](ElementType t) { return t == e4m3 || t == e5m2; };
    return (ocp8(a) && ocp8(b)) || (is_fp4(a) && is_fp4(b));
}

int packed_tiles(ElementType type, int k) {
    const Operand x{nullptr, nullptr, type, 16, k, Rounding::nearest_even};
    int tiles = 0;
    with_packer(x, [&](const auto& packer) { tiles = packer.tiles(); });
    return tiles;
}

int pack_a(uint8_t* out, int64_t strip_bytes, const PackArgs& args) {
    return pack<true>(out, strip_bytes, operand_of(args));
}
int pack_b(uint8_t* out, int64_t strip_bytes, const PackArgs& args) {
    return pack<false>(out, strip_bytes, operand_of(args));
}

void mmad_packed(const PackedMmadArgs& args) {
    const COfCall c(args.c, args.m, args.n, args.init, args.bias);
    if (args.is_s8)
        multiply_all<true>(c, args.products, args.count);
    else
        multiply_all<false>(c, args.products, args.count);
}

int pack_rows_a(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args) {
    return pack_rows<true>(out, strip_bytes, args);
}
int pack_rows_b(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args) {
    return pack_rows<false>(out, strip_bytes, args);
}

void unpack_bf16(uint8_t* to, int64_t k_stride_bytes, const PackedOperand& packed, bool is_b, int strips, int k) {
    for (int k1 = 0; k1 < k / 16; ++k1)
        for (int strip = 0; strip < strips; ++strip) {
            const uint8_t* tile = packed.data + strip * packed.strip_bytes + k1 / 2 * kTileBytes;
            uint8_t* fractal = to + k1 * k_stride_bytes + strip * 512;
            for (int row = 0; row < 16; ++row)
                for (int pair = 0; pair < 8; ++pair) {
                    const int tile_row = is_b ? k1 % 2 * 8 + pair : row, dword = is_b ? row : k1 % 2 * 8 + pair;
                    std::memcpy(fractal + row * 32 + pair * 4, tile + tile_row * 64 + dword * 4, 4);
                }
        }
}

void mmad(const MmadArgs& args) {
    const Operand a = generic::operand_a(args), b = generic::operand_b(args);
    if (!packs(a.type, b.type)) return generic::mmad(args);  // fp32
    const int tiles = packed_tiles(a.type, a.k);
    const int64_t strip_bytes = int64_t{tiles} * kTileBytes;
    int a_exponents[256], b_exponents[256];  // m and n are at most 4095
    uint8_t* packed_a = scratch(ScratchSlot::a, static_cast<size_t>(strip_bytes * a.strips()));
    uint8_t* packed_b = scratch(ScratchSlot::b, static_cast<size_t>(strip_bytes * b.strips()));
    const bool all = exact_together(pack<true>(packed_a, strip_bytes, a, a_exponents),
                                    pack<false>(packed_b, strip_bytes, b, b_exponents));
    const Factor factor{{packed_a, strip_bytes}, {packed_b, strip_bytes}, tiles};
    const COfCall c(args.c, args.m, args.n, args.init, args.bias);
    const auto run = [&]<bool kS8>() {
        if (all)
            multiply_all<kS8>(c, &factor, 1);
        else
            multiply_mixed<kS8>(c, Exact{args}, factor, a_exponents, b_exponents);
    };
    a.type == ElementType::s8 ? run.template operator()<true>() : run.template operator()<false>();
}

}  // namespace ascend::host::amx_level
