// SPDX-License-Identifier: MIT
// How does an MMAD run on AMX tiles? Strips are packed, then 2 x 2 tiles of C stay in registers over the
// whole k.
#include <optional>

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

// C of the call, fractal by fractal. The result of a fractal that is not wholly live goes through `edge`.
struct COfCall {
    const MmadArgs& args;
    int m1_count = ceil_div(args.m, 16);
    alignas(64) float last_bias[16] = {};

    explicit COfCall(const MmadArgs& call) : args(call) {
        if (args.bias && args.n % 16)
            std::memcpy(last_bias, args.bias + args.n / 16 * 16,
                        sizeof(float) * static_cast<size_t>(args.n % 16));
    }
    float* at(int m1, int n1) const { return args.c + (static_cast<int64_t>(n1) * m1_count + m1) * 256; }
    const float* bias(int n1) const { return n1 * 16 + 16 <= args.n ? args.bias + n1 * 16 : last_bias; }
    bool whole(int m1, int n1) const { return m1 * 16 + 16 <= args.m && n1 * 16 + 16 <= args.n; }
    void copy_live(float* to, const float* from, int m1, int n1) const {
        const int rows = args.m - m1 * 16 < 16 ? args.m - m1 * 16 : 16,
                  columns = args.n - n1 * 16 < 16 ? args.n - n1 * 16 : 16;
        for (int i = 0; i < rows; ++i)
            std::memcpy(to + i * 16, from + i * 16, sizeof(float) * static_cast<size_t>(columns));
    }
    // One fractal without AMX; operands are decoded when they are first needed.
    void exact(int m1, int n1) const {
        if (!operands) {
            has_large_scale = generic::has_large_scale(generic::operand_a(args)) ||
                              generic::has_large_scale(generic::operand_b(args));
            operands.emplace(args);
        }
        if (has_large_scale)
            generic::wide_block(args, m1, n1);
        else
            generic::fma_blocks<1>(args, *operands, m1, n1);
    }
    mutable bool has_large_scale = false;
    mutable std::optional<FmaOperands> operands;
};

// Tile numbers are literals in the instructions: C is tile 2i + j, strip i of A is tile 4 + i, strip j of B
// is tile 6 + j.
#define ASCEND_AMX_LOAD_C(tile, i, j)                                      \
    do {                                                                   \
        if (!c.args.init)                                                  \
            _tile_loadd(tile, c.at(m1 + i, n1 + j), 64);                   \
        else if (c.args.bias)                                              \
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

// One product of kM x kN fractals of C, complete when it returns.
template <bool kS8, int kM, int kN>
void multiply(const COfCall& c, const uint8_t* a, const uint8_t* b, int tiles, int m1, int n1) {
    const int64_t strip_bytes = static_cast<int64_t>(tiles) * kTileBytes;
    alignas(64) float edge[256];
    ASCEND_AMX_LOAD_C(0, 0, 0);
    if constexpr (kN == 2) ASCEND_AMX_LOAD_C(1, 0, 1);
    if constexpr (kM == 2) ASCEND_AMX_LOAD_C(2, 1, 0);
    if constexpr (kM == 2 && kN == 2) ASCEND_AMX_LOAD_C(3, 1, 1);
    for (int t = 0; t < tiles; ++t, a += kTileBytes, b += kTileBytes) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        if constexpr (kM == 2) _tile_loadd(5, a + strip_bytes, 64);
        if constexpr (kN == 2) _tile_loadd(7, b + strip_bytes, 64);
        ASCEND_AMX_MULTIPLY(0, 4, 6);
        if constexpr (kN == 2) ASCEND_AMX_MULTIPLY(1, 4, 7);
        if constexpr (kM == 2) ASCEND_AMX_MULTIPLY(2, 5, 6);
        if constexpr (kM == 2 && kN == 2) ASCEND_AMX_MULTIPLY(3, 5, 7);
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

// `meanwhile` runs while the matrix unit is busy: packing of what the next blocks need.
template <bool kS8, typename Meanwhile>
void multiply_2x2(const COfCall& c, const uint8_t* a, const uint8_t* b, int tiles, int m1, int n1,
                  Pending& pending, Meanwhile meanwhile) {
    const int64_t strip_bytes = static_cast<int64_t>(tiles) * kTileBytes;
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + strip_bytes, 64);
    _tile_loadd(5, a + strip_bytes, 64);
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
    meanwhile();
    for (int t = 1; t < tiles; ++t) {
        a += kTileBytes, b += kTileBytes;
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + strip_bytes, 64);
        _tile_loadd(5, a + strip_bytes, 64);
        ASCEND_AMX_MULTIPLY(0, 4, 6);
        ASCEND_AMX_MULTIPLY(1, 4, 7);
        ASCEND_AMX_MULTIPLY(2, 5, 6);
        ASCEND_AMX_MULTIPLY(3, 5, 7);
    }
    pending = {c.at(m1, n1), c.at(m1, n1 + 1)};
}

// One operand of the call as packed strips, made tile by tile.
template <typename Packer, bool kIsA>
class PackedStrips {
public:
    PackedStrips(const Packer& packer, ScratchSlot slot, int strips)
        : packer_(packer),
          tiles_(packer.tiles()),
          strips_(strips),
          strip_bytes_(static_cast<int64_t>(tiles_) * kTileBytes),
          data_(scratch(slot, static_cast<size_t>(strip_bytes_ * (kIsA ? 4 : strips)))) {}

    // Packs up to `count` more tiles of the strips below `end`.
    void advance(int count, int end) {
        if (end > strips_) end = strips_;
        for (; count > 0 && strip_ < end; --count) {
            uint8_t* out = at(strip_) + t_ * kTileBytes;
            if constexpr (kIsA)
                packer_.pack_a(out, strip_, t_, seen_);
            else
                packer_.pack_b(out, strip_, t_, seen_);
            if (++t_ == tiles_) {
                range_[strip_++] = packer_.range(seen_);
                seen_ = {};
                t_ = 0;
            }
        }
    }
    void finish(int end) { advance(1 << 30, end); }

    // Strips of A are used in one pass and share four places, so that they stay in the first-level cache.
    uint8_t* at(int strip) const { return data_ + (kIsA ? strip % 4 : strip) * strip_bytes_; }
    StripRange range(int strip) const { return {range_[strip]}; }

private:
    const Packer& packer_;
    int tiles_, strips_;
    int64_t strip_bytes_;
    uint8_t* data_;
    int strip_ = 0, t_ = 0;  // the next tile to pack
    typename Packer::Seen seen_ = {};
    StripRange range_[256];  // m and n are at most 4095
};

template <bool kS8, typename PackA, typename PackB>
void run(const MmadArgs& args, const PackA& pack_a, const PackB& pack_b) {
    const COfCall c(args);
    const int tiles = pack_a.tiles(), m1_count = ceil_div(args.m, 16), n1_count = ceil_div(args.n, 16);
    PackedStrips<PackA, true> a(pack_a, ScratchSlot::a, m1_count);
    PackedStrips<PackB, false> b(pack_b, ScratchSlot::b, n1_count);
    const int a_share =
        ceil_div(2 * tiles, n1_count / 2 > 0 ? n1_count / 2 : 1);  // tiles of the next two strips per block
    configure_tiles();
    Pending pending;
    for (int m1 = 0; m1 < m1_count; m1 += 2) {
        a.finish(m1 + 2);
        for (int n1 = 0; n1 < n1_count; n1 += 2) {
            b.finish(n1 + 2);
            const int m_tiles = m1 + 1 < m1_count ? 2 : 1, n_tiles = n1 + 1 < n1_count ? 2 : 1;
            const auto meanwhile = [&] {
                a.advance(a_share, m1 + 4);
                b.finish(n1 + 4);
            };
            bool all_safe = true;
            for (int i = 0; i < m_tiles; ++i)
                for (int j = 0; j < n_tiles; ++j) all_safe &= a.range(m1 + i).safe_with(b.range(n1 + j));
            const bool whole = c.whole(m1 + m_tiles - 1, n1 + n_tiles - 1);
            if (all_safe && whole && m_tiles == 2 && n_tiles == 2) {
                multiply_2x2<kS8>(c, a.at(m1), b.at(n1), tiles, m1, n1, pending, meanwhile);
                continue;
            }
            pending.store();
            if (all_safe) {
                if (m_tiles == 2 && n_tiles == 2) multiply<kS8, 2, 2>(c, a.at(m1), b.at(n1), tiles, m1, n1);
                if (m_tiles == 2 && n_tiles == 1) multiply<kS8, 2, 1>(c, a.at(m1), b.at(n1), tiles, m1, n1);
                if (m_tiles == 1 && n_tiles == 2) multiply<kS8, 1, 2>(c, a.at(m1), b.at(n1), tiles, m1, n1);
                if (m_tiles == 1 && n_tiles == 1) multiply<kS8, 1, 1>(c, a.at(m1), b.at(n1), tiles, m1, n1);
                continue;
            }
            for (int i = 0; i < m_tiles; ++i) {
                for (int j = 0; j < n_tiles; ++j) {
                    if (a.range(m1 + i).safe_with(b.range(n1 + j)))
                        multiply<kS8, 1, 1>(c, a.at(m1 + i), b.at(n1 + j), tiles, m1 + i, n1 + j);
                    else
                        c.exact(m1 + i, n1 + j);
                }
            }
        }
    }
    pending.store();
}

template <bool kS8, typename PackA, typename PackB = PackA>
void run_as(const MmadArgs& args) {
    const Operand a = generic::operand_a(args), b = generic::operand_b(args);
    run<kS8>(args, PackA{a}, PackB{b});
}

}  // namespace

void mmad(const MmadArgs& args) {
    using enum ElementType;
    const ElementType a = args.a_type, b = args.b_type;
    if (args.a_scale) {
        if (a == e4m3 && b == e4m3) return run_as<false, Fp8<e4m3, true>>(args);
        if (a == e4m3 && b == e5m2) return run_as<false, Fp8<e4m3, true>, Fp8<e5m2, true>>(args);
        if (a == e5m2 && b == e4m3) return run_as<false, Fp8<e5m2, true>, Fp8<e4m3, true>>(args);
        if (a == e5m2 && b == e5m2) return run_as<false, Fp8<e5m2, true>>(args);
        if (a == e2m1 && b == e2m1) return run_as<false, Fp4<e2m1, true>>(args);
        if (a == e2m1 && b == e1m2) return run_as<false, Fp4<e2m1, true>, Fp4<e1m2, true>>(args);
        if (a == e1m2 && b == e2m1) return run_as<false, Fp4<e1m2, true>, Fp4<e2m1, true>>(args);
        if (a == e1m2 && b == e1m2) return run_as<false, Fp4<e1m2, true>>(args);
    } else {
        if (a == bf16 && b == bf16) return run_as<false, RawBytes<bf16>>(args);
        if (a == e4m3 && b == e4m3) return run_as<false, Fp8<e4m3, false>>(args);
        if (a == e4m3 && b == e5m2) return run_as<false, Fp8<e4m3, false>, Fp8<e5m2, false>>(args);
        if (a == e5m2 && b == e4m3) return run_as<false, Fp8<e5m2, false>, Fp8<e4m3, false>>(args);
        if (a == e5m2 && b == e5m2) return run_as<false, Fp8<e5m2, false>>(args);
        if (a == hif8 && b == hif8) return run_as<false, Fp8<hif8, false>>(args);
        if (a == f16 && b == f16) return run_as<false, SplitInTwo<f16>>(args);
        if (a == hf32 && b == hf32) return run_as<false, SplitInTwo<hf32>>(args);
        if (a == s8 && b == s8) return run_as<true, RawBytes<s8>>(args);
    }
    generic::mmad(args);  // fp32, and mixtures that the cube does not have
}

}  // namespace ascend::host::amx_level
