// SPDX-License-Identifier: MIT
// How does an MMAD run on AMX tiles? Strips are packed, then 2 x 2 tiles of C stay in registers over the whole k.
#include "host/avx512/intrinsics.h"

#include "host/avx512/f32x16.h"

#include "host/amx/level.h"
#include "host/amx/pack.h"

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

struct Tiles {
    Tiles() {
        static const TileConfig config;
        _tile_loadconfig(&config);
    }
    ~Tiles() { _tile_release(); }
};

// C of the call, fractal by fractal. The result of a fractal that is not wholly live goes through `edge`.
struct COfCall {
    const MmadArgs& args;
    int m1_count = ceil_div(args.m, 16);
    alignas(64) float last_bias[16] = {};

    explicit COfCall(const MmadArgs& call) : args(call) {
        if (args.bias && args.n % 16)
            std::memcpy(last_bias, args.bias + args.n / 16 * 16, sizeof(float) * static_cast<size_t>(args.n % 16));
    }
    float* at(int m1, int n1) const { return args.c + (static_cast<int64_t>(n1) * m1_count + m1) * 256; }
    const float* bias(int n1) const { return n1 * 16 + 16 <= args.n ? args.bias + n1 * 16 : last_bias; }
    bool whole(int m1, int n1) const { return m1 * 16 + 16 <= args.m && n1 * 16 + 16 <= args.n; }
    void copy_live(float* to, const float* from, int m1, int n1) const {
        const int rows = args.m - m1 * 16 < 16 ? args.m - m1 * 16 : 16, columns = args.n - n1 * 16 < 16 ? args.n - n1 * 16 : 16;
        for (int i = 0; i < rows; ++i) std::memcpy(to + i * 16, from + i * 16, sizeof(float) * static_cast<size_t>(columns));
    }
};

// Tile numbers are literals in the instructions: C is tile 2i + j, strip i of A is tile 4 + i, strip j of B is tile 6 + j.
#define ASCEND_AMX_FOR_C(DO)                 \
    DO(0, 4, 6, 0, 0);                       \
    if constexpr (kN == 2) DO(1, 4, 7, 0, 1); \
    if constexpr (kM == 2) DO(2, 5, 6, 1, 0); \
    if constexpr (kM == 2 && kN == 2) DO(3, 5, 7, 1, 1)

template <bool kS8, int kM, int kN>
void multiply(const COfCall& c, const uint8_t* a, const uint8_t* b, int tiles, int m1, int n1) {
    const int64_t strip_bytes = static_cast<int64_t>(tiles) * kTileBytes;
#define ASCEND_AMX_START(tile, a_tile, b_tile, i, j)                                       \
    do {                                                                   \
        if (!c.args.init)                                                  \
            _tile_loadd(tile, c.at(m1 + i, n1 + j), 64);                   \
        else if (c.args.bias)                                              \
            _tile_loadd(tile, c.bias(n1 + j), 0); /* every row the same */ \
        else                                                               \
            _tile_zero(tile);                                              \
    } while (0)
    ASCEND_AMX_FOR_C(ASCEND_AMX_START);
    for (int t = 0; t < tiles; ++t, a += kTileBytes, b += kTileBytes) {
        _tile_loadd(6, b, 64);
        if constexpr (kN == 2) _tile_loadd(7, b + strip_bytes, 64);
        _tile_loadd(4, a, 64);
        if constexpr (kM == 2) _tile_loadd(5, a + strip_bytes, 64);
#define ASCEND_AMX_STEP(tile, a_tile, b_tile, i, j)                  \
    do {                                             \
        if constexpr (kS8)                           \
            _tile_dpbssd(tile, a_tile, b_tile);        \
        else                                         \
            _tile_dpbf16ps(tile, a_tile, b_tile);      \
    } while (0)
        ASCEND_AMX_FOR_C(ASCEND_AMX_STEP);
    }
#define ASCEND_AMX_STORE(tile, a_tile, b_tile, i, j)                             \
    do {                                                         \
        if (c.whole(m1 + i, n1 + j)) {                           \
            _tile_stored(tile, c.at(m1 + i, n1 + j), 64);        \
        } else {                                                 \
            alignas(64) float edge[256];                         \
            _tile_stored(tile, edge, 64);                        \
            c.copy_live(c.at(m1 + i, n1 + j), edge, m1 + i, n1 + j); \
        }                                                        \
    } while (0)
    ASCEND_AMX_FOR_C(ASCEND_AMX_STORE);
}

template <bool kS8, typename PackA, typename PackB>
void run(const MmadArgs& args, const PackA& pack_a, const PackB& pack_b) {
    const COfCall c(args);
    const int tiles = pack_a.tiles(), m1_count = ceil_div(args.m, 16), n1_count = ceil_div(args.n, 16);
    const int64_t strip_bytes = static_cast<int64_t>(tiles) * kTileBytes;
    uint8_t* a = scratch(ScratchSlot::a, static_cast<size_t>(2 * strip_bytes));
    uint8_t* b = scratch(ScratchSlot::b, static_cast<size_t>(n1_count * strip_bytes));
    StripRange b_range[256], least_b;
    for (int n1 = 0; n1 < n1_count; ++n1) {
        b_range[n1] = pack_b.pack_b(b + n1 * strip_bytes, n1);
        if (b_range[n1].unit_exponent < least_b.unit_exponent) least_b = b_range[n1];
    }
    FmaOperands exact(args);
    const Tiles configured;
    for (int m1 = 0; m1 < m1_count; m1 += 2) {
        const int m_tiles = m1 + 1 < m1_count ? 2 : 1;
        StripRange a_range[2];
        for (int i = 0; i < m_tiles; ++i) a_range[i] = pack_a.pack_a(a + i * strip_bytes, m1 + i);
        if (a_range[0].safe_with(least_b) && a_range[1].safe_with(least_b)) {
            int n1 = 0;
            for (; n1 + 2 <= n1_count; n1 += 2) {
                if (m_tiles == 2)
                    multiply<kS8, 2, 2>(c, a, b + n1 * strip_bytes, tiles, m1, n1);
                else
                    multiply<kS8, 1, 2>(c, a, b + n1 * strip_bytes, tiles, m1, n1);
            }
            if (n1 < n1_count) {
                if (m_tiles == 2)
                    multiply<kS8, 2, 1>(c, a, b + n1 * strip_bytes, tiles, m1, n1);
                else
                    multiply<kS8, 1, 1>(c, a, b + n1 * strip_bytes, tiles, m1, n1);
            }
            continue;
        }
        for (int i = 0; i < m_tiles; ++i) {
            for (int n1 = 0; n1 < n1_count; ++n1) {
                if (a_range[i].safe_with(b_range[n1]))
                    multiply<kS8, 1, 1>(c, a + i * strip_bytes, b + n1 * strip_bytes, tiles, m1 + i, n1);
                else
                    generic::fma_blocks<1>(args, exact, m1 + i, n1);
            }
        }
    }
}

}  // namespace

void mmad(const MmadArgs& args) {
    const Operand a = generic::operand_a(args), b = generic::operand_b(args);
    if (args.a_type == ElementType::s8) return run<true>(args, RawBytes{a, false}, RawBytes{b, false});
    if (args.a_type == ElementType::bf16) return run<false>(args, RawBytes{a, true}, RawBytes{b, true});
    generic::mmad(args);
}

}  // namespace ascend::host::amx_level
