// SPDX-License-Identifier: MIT
// D[m, n] (+)= alpha * A[m, k] @ B[n, k]^T for bf16, and for fp8 and fp4 with block scales: the kernel they share.
// Path: GM -MTE2-> L1 -MTE1-> L0A, L0B -M-> L0C -FIX-> UB of vector core 1 -MTE3-> GM, or L0C -FIX-> GM.
// Limit: per k of a 256 x 256 block in bf16, M takes 65536/4096 = 16 cycles, MTE2 1024 B / 100 B = 10.2, MTE1 4: M.
//
// Flags. MTE2->MTE1 "full", MTE1->MTE2 "free": one id per L1 stage; stages of scales follow from kScaleFlag on.
// MTE1->M "L0 full" and M->MTE1 "L0 free": ids 0, 1.
// M and FIX share L0C through unit flags. FIX and vector core 1 count UB stages up (16+s) and down (s).
// FP8 x FP4: B comes from vector cores instead of MTE2, see dequant.h; MTE1 waits for all.
#pragma once

#include "isa/kernel.h"
#include "kernels/deep_gemm/dequant.h"
#include "kernels/deep_gemm/tile.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

struct Operand {
    uint8_t* data;
    int64_t row_stride;    // bytes between rows of the [mn, k] view, or of its transpose if mn_major
    bool mn_major;         // stored [k, mn]
    uint16_t* scales;      // [ceil(k/64), mn] pairs of e8m0, or null
    int64_t scale_stride;  // elements between pairs of the same row
};

struct GemmArgs {
    int64_t m, n, k;
    Operand a, b;
    uint8_t* d;
    int64_t d_row_stride;  // elements
    bool d_fp32, accumulate;
    float alpha;
    bool has_alpha;
    Tile tile;
    int blocks;            // of the grid
};

constexpr int kUbStages = 3;
constexpr int kScaleFlag = kMaxStagesScaled;  // ids of the scale stages
constexpr int kVectorCore1 = 16;  // added to a cross-core id
constexpr int64_t kMaxRowStrideBytes = int64_t{65535} * 8;  // of asc_copy_gm2l1_nd2nz

// One extent of a block: where it begins and how much of it exists.
struct Span {
    int64_t begin;
    int size;    // live
    int padded;  // rows that take part in MMADs: a transposed load yields 32 (8-bit), 64 (4-bit) at a time
};

// A and B: element types in global memory. The cube multiplies A's; a narrower B is expanded to it on the way.
template <class A, class B>
struct Gemm {
    using T = A;
    static constexpr int kBits = isa::kElementBits<T>;
    static constexpr int kUnit = 256 / kBits;         // elements of k in 32 bytes
    static constexpr int kStored = kBits == 4 ? 2 : 1;  // elements in one T
    static constexpr bool kScaled = kBits != 16;
    static constexpr bool kExpandsB = !std::is_same_v<A, B>;
    static constexpr int kKGrain = kScaled ? 64 : 16;  // k of an MMAD is a multiple (MX), or is padded to it in L1

    const GemmArgs& g;
    const Tile& t;
    const int64_t tiles, k_blocks;
    const bool a_stays;  // one row of blocks, all of k in the L1 stages: A is loaded once

    explicit Gemm(const GemmArgs& args)
        : g(args), t(args.tile), tiles(t.m_blocks * t.n_blocks), k_blocks(ceil_div(args.k, t.block_k)),
          a_stays(t.m_blocks == 1 && k_blocks <= t.l1_stages) {}

    Span span(int64_t index, int block, int64_t extent, bool mn_major) const {
        const int64_t begin = index * block;
        const int size = static_cast<int>(std::min<int64_t>(block, extent - begin));
        return {begin, size, kScaled && mn_major ? static_cast<int>(align_up(size, kUnit)) : size};
    }
    Span span_m(int64_t id) const { return span(block_at(t, id).m, t.block_m, g.m, g.a.mn_major); }
    Span span_n(int64_t id) const { return span(block_at(t, id).n, t.block_n, g.n, g.b.mn_major); }
    int live_k(int64_t k_block) const {
        return static_cast<int>(std::min<int64_t>(t.block_k, g.k - k_block * t.block_k));
    }

    // ---- L1: data stages from 0, scale stages behind them -----------------------------------------------------------

    static constexpr int64_t bytes_of(int64_t elements) { return elements * kBits / 8; }
    int64_t a_bytes() const { return bytes_of(int64_t{t.block_m} * t.block_k); }
    int64_t b_bytes() const { return bytes_of(int64_t{t.block_n} * t.block_k); }
    int pairs_per_stage() const { return t.block_k / 64 * t.scale_blocks; }
    T* l1_a(int stage) const { return at<T>(stage * (a_bytes() + b_bytes())); }
    T* l1_b(int stage) const { return at<T>(stage * (a_bytes() + b_bytes()) + a_bytes()); }
    uint16_t* l1_scales(int stage, bool of_b) const {
        const int64_t a_scales = int64_t{t.block_m} * 2 * pairs_per_stage();
        const int64_t b_scales = int64_t{t.block_n} * 2 * pairs_per_stage();
        return at<uint16_t>(t.l1_stages * (a_bytes() + b_bytes()) + stage * (a_scales + b_scales) +
                            (of_b ? a_scales : 0));
    }
    template <class U>
    static U* at(int64_t offset) { return reinterpret_cast<U*>(static_cast<uintptr_t>(offset)); }

    // ---- MTE2 -------------------------------------------------------------------------------------------------------

    // Line r of 32-byte column u to unit u * pitch + r. A stride that the field for rows cannot hold, 0 among them, goes
    // into the one for matrices, of one row each.
    void load_lines(const Operand& x, int64_t first, int64_t offset, int lines, int columns, int pitch, T* l1) const {
        const bool is_regular = x.row_stride > 0 && x.row_stride <= kMaxRowStrideBytes;
        asc_set_gm2l1_nz_para(is_regular ? 1 : lines, 1, pitch, is_regular ? 0 : 1);
        asc_copy_gm2l1_nd2nz(l1, reinterpret_cast<T*>(x.data + first * x.row_stride + offset), is_regular ? x.row_stride : 1,
                             asc_load_l2_cache_mode{0}, is_regular ? lines : 1, columns, is_regular ? 0 : x.row_stride, 0);
    }

    // Row r of k unit u: unit u * rows16 + r. Behind the last k, up to the grain of an MMAD, units are zero.
    void load_k_major(const Operand& x, Span rows, int64_t k_begin, int k, T* l1) const {
        const int rows16 = static_cast<int>(align_up(rows.size, 16));
        load_lines(x, rows.begin, bytes_of(k_begin), rows.size, k / kStored, rows16, l1);
        const int units = static_cast<int>(ceil_div(k, kUnit)), wanted = static_cast<int>(align_up(k, kKGrain)) / kUnit;
        if (units < wanted)
            asc_fill_l1(at_unit(l1, int64_t{units} * rows16), 0,
                        {.repeat = 1, .blk_num = static_cast<uint64_t>(rows16), .dst_gap = 0});
    }

    // Stored [k, mn]: row k of mn unit u at unit u * k16 + k; MTE1 transposes. Missing k are zero.
    void load_mn_major(const Operand& x, Span columns, int64_t k_begin, int k, T* l1) const {
        const int k16 = static_cast<int>(align_up(k, kKGrain));
        load_lines(x, k_begin, bytes_of(columns.begin), k, columns.size / kStored, k16, l1);
        if (k < k16)
            asc_fill_l1(at_unit(l1, k), 0,
                        {.repeat = static_cast<uint64_t>(ceil_div(columns.size, kUnit)),
                         .blk_num = static_cast<uint64_t>(k16 - k),
                         .dst_gap = static_cast<uint64_t>(k)});
    }

    static uint16_t* at_unit(T* l1, int64_t unit) {
        return reinterpret_cast<uint16_t*>(reinterpret_cast<uintptr_t>(l1) + static_cast<uintptr_t>(unit) * 32);
    }

    void load(const Operand& x, Span mn, int64_t k_block, T* l1) const {
        const int64_t k_begin = k_block * t.block_k;
        if (x.mn_major)
            load_mn_major(x, mn, k_begin, live_k(k_block), l1);
        else
            load_k_major(x, mn, k_begin, live_k(k_block), l1);
    }

    // Pairs are rows, mn the columns: 16 rows of mn make a 32-byte scale fractal, pair p at p behind (mn/16) * pairs.
    void load_scales(const Operand& x, Span mn, int64_t first_pair, uint16_t* l1) const {
        const int pairs = static_cast<int>(std::min<int64_t>(pairs_per_stage(), ceil_div(g.k, 64) - first_pair));
        asc_set_gm2l1_nz_para(1, 1, pairs_per_stage(), 0);
        asc_copy_gm2l1_nd2nz(l1, x.scales + first_pair * x.scale_stride + mn.begin, x.scale_stride * 2,
                             asc_load_l2_cache_mode{0}, pairs, mn.size, 0, 0);
        const int64_t loaded = ceil_div(mn.size, 16), wanted = ceil_div(mn.padded, 16);
        if (loaded < wanted)
            asc_fill_l1(l1 + loaded * pairs_per_stage() * 16, 0,
                        {.repeat = static_cast<uint64_t>(wanted - loaded),
                         .blk_num = static_cast<uint64_t>(pairs),
                         .dst_gap = static_cast<uint64_t>(pairs_per_stage() - pairs)});
    }

    // One k block of one tile. One cursor loads, another multiplies behind it.
    struct Cursor {
        int64_t tile, k_block = 0, step = 0;
        int64_t chunk = 0;  // scale stages used so far
    };
    int stage_of(const Cursor& c) const {
        return static_cast<int>(a_stays ? c.k_block : c.step % t.l1_stages);
    }
    bool begins_chunk(const Cursor& c) const { return kScaled && c.k_block % t.scale_blocks == 0; }
    void advance(Cursor& c) const {
        ++c.step;
        if (++c.k_block == k_blocks) {
            c.k_block = 0;
            c.tile += g.blocks;
        }
        if (c.tile < tiles && begins_chunk(c)) ++c.chunk;
    }

    // A load is issued only when the multiplications that free its stages have been: MTE2's queue is finite, and waits
    // in it must not keep the scalar unit from issuing what they wait for.
    bool may_load(const Cursor& ahead, const Cursor& now) const {
        if (ahead.tile >= tiles) return false;
        const int64_t stages = a_stays ? k_blocks : t.l1_stages;
        return ahead.step - now.step < stages && ahead.chunk - now.chunk < kScaleStages;
    }

    void load_step(const Cursor& c) const {
        const Span m = span_m(c.tile), n = span_n(c.tile);
        if (begins_chunk(c)) {
            const int stage = static_cast<int>(c.chunk % kScaleStages);
            const int64_t first_pair = c.k_block * t.block_k / 64;
            asc_sync_wait(PIPE_MTE1, PIPE_MTE2, kScaleFlag + stage);
            load_scales(g.a, m, first_pair, l1_scales(stage, false));
            load_scales(g.b, n, first_pair, l1_scales(stage, true));
            asc_sync_notify(PIPE_MTE2, PIPE_MTE1, kScaleFlag + stage);
        }
        const int stage = stage_of(c);
        asc_sync_wait(PIPE_MTE1, PIPE_MTE2, stage);
        if (!a_stays || c.step < k_blocks) load(g.a, m, c.k_block, l1_a(stage));
        if constexpr (!kExpandsB) load(g.b, n, c.k_block, l1_b(stage));
        asc_sync_notify(PIPE_MTE2, PIPE_MTE1, stage);
    }

    // ---- MTE1 and M -------------------------------------------------------------------------------------------------

    // One MAD's rows of an operand into L0, at `offset` bytes of the stage.
    template <bool b_side>
    void load_l0(const Operand& x, T* l1, int first_row, int rows, int stage_rows16, int k_stage, int k_begin, int k,
                 uint16_t* scales, int first_pair, int64_t l0_offset) const {
        T* l0 = at<T>(l0_offset);
        const int row_blocks = static_cast<int>(ceil_div(rows, 16));
        const int k_units = static_cast<int>(align_up(k, kKGrain)) / kUnit;
        if (!x.mn_major) {
            const auto copy = [&](auto... fields) {
                if constexpr (b_side)
                    asc_copy_l12l0b(l0, l1, fields...);
                else
                    asc_copy_l12l0a(l0, l1, fields...);
            };
            copy(first_row / 16, k_begin / kUnit, row_blocks, k_units, stage_rows16 / 16, row_blocks);
        } else {
            const auto copy = [&](auto... fields) {
                if constexpr (b_side)
                    asc_copy_l12l0b_transpose(l0, l1, fields...);
                else
                    asc_copy_l12l0a_transpose(l0, l1, fields...);
            };
            copy(k_begin / 16, first_row / kUnit, static_cast<int>(align_up(k, kKGrain)) / 16,
                 static_cast<int>(ceil_div(rows, kUnit)), static_cast<int>(align_up(k_stage, kKGrain)) / 16, row_blocks);
        }
        if constexpr (kScaled) {
            const int pairs = static_cast<int>(ceil_div(k, 64));
            const auto* l1_scale = reinterpret_cast<const fp8_e8m0_t*>(scales);
            if constexpr (b_side)
                asc_copy_l12l0b_mx(static_cast<uint64_t>(l0_offset / 16), l1_scale, first_row / 16, first_pair,
                                   row_blocks, pairs, pairs_per_stage(), pairs);
            else
                asc_copy_l12l0a_mx(static_cast<uint64_t>(l0_offset / 16), l1_scale, first_row / 16, first_pair,
                                   row_blocks, pairs, pairs_per_stage(), pairs);
        }
    }

    // The part of MAD `index` of `splits` along one axis; empty behind the live extent.
    static Span part(Span whole, int mad, int index) {
        const int begin = index * mad;
        return {begin, std::clamp(whole.size - begin, 0, mad), std::clamp(whole.padded - begin, 0, mad)};
    }

    // L0C address of a MAD: with one MAD a block, tiles alternate between the halves.
    int64_t l0c_of(int64_t tile_number, int mad) const {
        const int half = t.splits_m * t.splits_n == 1 ? static_cast<int>(tile_number % 2) : mad;
        return half * kMadBytes;
    }

    void multiply_step(const Cursor& c, int64_t tile_number, int64_t& l0_step) const {
        const Span m = span_m(c.tile), n = span_n(c.tile);
        const int k_live = live_k(c.k_block), stage = stage_of(c);
        const int scale_stage = static_cast<int>(c.chunk % kScaleStages);
        const bool last_block = c.k_block == k_blocks - 1;
        const bool ends_chunk = kScaled && (last_block || (c.k_block + 1) % t.scale_blocks == 0);
        if (begins_chunk(c)) asc_sync_wait(PIPE_MTE2, PIPE_MTE1, kScaleFlag + scale_stage);
        asc_sync_wait(PIPE_MTE2, PIPE_MTE1, stage);
        each_expander([&](int core_flag) { asc_sync_intra_wait(PIPE_MTE1, core_flag + stage); });
        for (int k = 0; k < k_live; k += t.mad_k) {
            const int mad_k = std::min(t.mad_k, k_live - k);
            const int l0_stage = static_cast<int>(l0_step++ % kL0Stages);
            const int64_t l0_base = l0_stage * int64_t{kL0aBytes / kL0Stages};
            const int64_t padded_k = align_up(mad_k, kKGrain);
            const int first_pair = static_cast<int>((c.k_block % t.scale_blocks) * t.block_k + k) / 64;
            const auto l0_of = [&](int mad, int index) { return l0_base + bytes_of(index * int64_t{mad} * padded_k); };
            asc_sync_wait(PIPE_M, PIPE_MTE1, l0_stage);
            for (int i = 0; i < t.splits_m; ++i)
                if (const Span rows = part(m, t.mad_m(), i); rows.size)
                    load_l0<false>(g.a, l1_a(stage), static_cast<int>(rows.begin), rows.padded,
                                   static_cast<int>(align_up(m.size, 16)), k_live, k, mad_k,
                                   l1_scales(scale_stage, false), first_pair, l0_of(t.mad_m(), i));
            for (int j = 0; j < t.splits_n; ++j)
                if (const Span rows = part(n, t.mad_n(), j); rows.size)
                    load_l0<true>(g.b, l1_b(stage), static_cast<int>(rows.begin), rows.padded,
                                  static_cast<int>(align_up(n.size, 16)), k_live, k, mad_k,
                                  l1_scales(scale_stage, true), first_pair, l0_of(t.mad_n(), j));
            const bool last = last_block && k + mad_k == k_live;
            if (k + mad_k == k_live) {
                asc_sync_notify(PIPE_MTE1, PIPE_MTE2, stage);
                each_expander([&](int core_flag) { asc_sync_intra_arrive(PIPE_MTE1, core_flag + stage); });
                if (ends_chunk) asc_sync_notify(PIPE_MTE1, PIPE_MTE2, kScaleFlag + scale_stage);
            }
            asc_sync_notify(PIPE_MTE1, PIPE_M, l0_stage);
            asc_sync_wait(PIPE_MTE1, PIPE_M, l0_stage);
            for (int i = 0; i < t.splits_m; ++i)
                for (int j = 0; j < t.splits_n; ++j) {
                    const Span rows = part(m, t.mad_m(), i), columns = part(n, t.mad_n(), j);
                    if (!rows.size || !columns.size) continue;
                    float* l0c = at<float>(l0c_of(tile_number, i * t.splits_n + j));
                    T* l0a = at<T>(l0_of(t.mad_m(), i));
                    T* l0b = at<T>(l0_of(t.mad_n(), j));
                    const bool first = c.k_block == 0 && k == 0;
                    if constexpr (kScaled)
                        asc_mmad_mx(l0c, l0a, l0b, rows.padded, padded_k, columns.padded, last ? 3 : 2, true, false, first);
                    else
                        asc_mmad(l0c, l0a, l0b, rows.padded, mad_k, columns.padded, last ? 3 : 2, true, false, first);
                }
            asc_sync_notify(PIPE_M, PIPE_MTE1, l0_stage);
        }
    }

    // ---- FIX --------------------------------------------------------------------------------------------------------

    // A MAD's rows leave in pieces of at most one UB stage.
    int d_bytes() const { return g.d_fp32 ? 4 : 2; }
    int ub_element_bytes() const { return g.has_alpha ? 4 : d_bytes(); }
    int ub_row_bytes() const { return static_cast<int>(align_up(int64_t{t.mad_n()} * ub_element_bytes(), 32)); }
    // Of 248 KiB; alpha needs a second buffer a stage for the rounded rows.
    int piece_rows() const {
        const int row_bytes = ub_row_bytes() + (g.has_alpha ? rounded_row_bytes() : 0);
        return std::max(1, std::min(t.mad_m(), 248 * 1024 / kUbStages / row_bytes / 16 * 16));
    }
    uint8_t* ub_stage(int stage) const { return isa::ub_base() + int64_t{stage} * piece_rows() * ub_row_bytes(); }
    uint8_t* ub_rounded(int stage) const {
        return isa::ub_base() + (int64_t{kUbStages} * ub_row_bytes() + int64_t{stage} * rounded_row_bytes()) * piece_rows();
    }
    int rounded_row_bytes() const { return static_cast<int>(align_up(int64_t{t.mad_n()} * d_bytes(), 32)); }

    template <class F>
    void each_mad(int64_t tile, F f) const {
        const Span m = span_m(tile), n = span_n(tile);
        for (int i = 0; i < t.splits_m; ++i)
            for (int j = 0; j < t.splits_n; ++j) {
                const Span rows = part(m, t.mad_m(), i), columns = part(n, t.mad_n(), j);
                if (rows.size && columns.size)
                    f(i * t.splits_n + j, rows, columns, m.begin + rows.begin, n.begin + columns.begin);
            }
    }

    void store_direct(int64_t tile, int64_t tile_number) const {
        each_mad(tile, [&](int mad, Span rows, Span columns, int64_t m, int64_t n) {
            asc_set_l0c_copy_nz_para(1, 0, 0);
            asc_copy_l0c2gm(g.d + (m * g.d_row_stride + n) * d_bytes(), at<float>(l0c_of(tile_number, mad)), columns.size,
                            rows.size, g.d_row_stride, align_up(rows.padded, 16), asc_store_l2_cache_mode{4},
                            asc_unit_flag_mode{3}, static_cast<asc_quant_mode>(g.d_fp32 ? 0 : 16), asc_relu_pre_mode{0},
                            0, 1, 0, 0);
        });
    }

    void store_to_ub(int64_t tile, int64_t tile_number, int64_t& piece) const {
        each_mad(tile, [&](int mad, Span rows, Span columns, int64_t, int64_t) {
            // All the rows and columns an MMAD produced are drained, or their unit flags would stay up.
            for (int row = 0; row < rows.padded; row += piece_rows(), ++piece) {
                const int stage = static_cast<int>(piece % kUbStages), count = std::min(piece_rows(), rows.padded - row);
                asc_sync_intra_wait(PIPE_FIX, kVectorCore1 + stage);
                asc_set_l0c_copy_nz_para(1, 0, 0);
                asc_copy_l0c2ub(ub_stage(stage), at<float>(l0c_of(tile_number, mad) + row * 64), columns.padded, count,
                                ub_row_bytes() / ub_element_bytes(), align_up(rows.padded, 16), 1, asc_dual_dst_mode{0},
                                asc_unit_flag_mode{3}, static_cast<asc_quant_mode>(ub_element_bytes() == 4 ? 0 : 16),
                                asc_relu_pre_mode{0}, 0, 1, 0, 0);
                asc_sync_intra_arrive(PIPE_FIX, kVectorCore1 + stage);
            }
        });
    }

    // ---- the two programs -------------------------------------------------------------------------------------------

    void cube() const {
        for (int stage = 0; stage < t.l1_stages; ++stage) {
            asc_sync_notify(PIPE_MTE1, PIPE_MTE2, stage);
            each_expander([&](int core_flag) { asc_sync_intra_arrive(PIPE_MTE1, core_flag + stage); });
        }
        for (int stage = 0; kScaled && stage < kScaleStages; ++stage)
            asc_sync_notify(PIPE_MTE1, PIPE_MTE2, kScaleFlag + stage);
        for (int stage = 0; stage < kL0Stages; ++stage) asc_sync_notify(PIPE_M, PIPE_MTE1, stage);
        if (t.direct_store && g.accumulate) asc_set_atomic_add_float();
        Cursor ahead{block_idx}, now{block_idx};
        int64_t tile_number = 0, l0_step = 0, piece = 0;
        while (now.tile < tiles) {
            for (; may_load(ahead, now); advance(ahead)) load_step(ahead);
            const int64_t tile = now.tile;
            multiply_step(now, tile_number, l0_step);
            advance(now);
            if (now.tile == tile) continue;
            if (t.direct_store)
                store_direct(tile, tile_number);
            else
                store_to_ub(tile, tile_number, piece);
            ++tile_number;
        }
        for (int stage = 0; stage < t.l1_stages; ++stage) asc_sync_wait(PIPE_MTE1, PIPE_MTE2, stage);
        for (int stage = 0; kScaled && stage < kScaleStages; ++stage)
            asc_sync_wait(PIPE_MTE1, PIPE_MTE2, kScaleFlag + stage);
        for (int stage = 0; stage < kL0Stages; ++stage) asc_sync_wait(PIPE_M, PIPE_MTE1, stage);
    }

    // Vector core 0 expands B. Where FIX stores D, vector core 1 has nothing else to do and takes half of the lines.
    template <class F>
    void each_expander(F f) const {
        if constexpr (kExpandsB) {
            f(0);
            if (t.direct_store) f(kVectorCore1);
        }
    }

    // The B of every k block, in the order in which the cube multiplies them.
    void expand_b() const {
        Fp4Expander expander(g.b.mn_major ? kMaxBlockFp4 : t.block_k);
        expander.begin();
        for (Cursor c{block_idx}; c.tile < tiles; advance(c)) {
            const Span n = span_n(c.tile);
            const int k = live_k(c.k_block), stage = stage_of(c);
            const int64_t k_begin = c.k_block * t.block_k, l1 = reinterpret_cast<intptr_t>(l1_b(stage));
            const int n16 = static_cast<int>(align_up(n.size, 16)), k64 = static_cast<int>(align_up(k, kKGrain));
            // As load_mn_major and load_k_major leave it.
            const PackedTile whole =
                g.b.mn_major ? PackedTile{.gm = g.b.data + k_begin * g.b.row_stride + n.begin / 2, .line_stride = g.b.row_stride,
                                          .lines = k, .elements = n.size, .l1_lines = k64,
                                          .l1_units = n.padded / 32, .l1_pitch = k64, .l1 = l1}
                             : PackedTile{.gm = g.b.data + n.begin * g.b.row_stride + k_begin / 2, .line_stride = g.b.row_stride,
                                          .lines = n.size, .elements = k, .l1_lines = n.size,
                                          .l1_units = k64 / 32, .l1_pitch = n16, .l1 = l1};
            expander.expand(t.direct_store ? whole.half(asc_get_sub_block_id() == 1) : whole, stage);
        }
        expander.end();
        for (int stage = 0; stage < t.l1_stages; ++stage) asc_sync_intra_wait(PIPE_MTE3, stage);
    }

    void vector() const {
        if constexpr (kExpandsB)
            if (asc_get_sub_block_id() == 0 || t.direct_store) return expand_b();
        if (asc_get_sub_block_id() != 1 || t.direct_store) return;
        for (int stage = 0; stage < kUbStages; ++stage) asc_sync_intra_arrive(PIPE_MTE3, stage);
        if (g.accumulate) g.d_fp32 ? asc_set_atomic_add_float() : asc_set_atomic_add_bfloat();
        int64_t piece = 0;
        for (int64_t tile = block_idx; tile < tiles; tile += g.blocks)
            each_mad(tile, [&](int, Span rows, Span columns, int64_t m, int64_t n) {
                for (int row = 0; row < rows.padded; row += piece_rows(), ++piece)
                    store_piece(static_cast<int>(piece % kUbStages), std::clamp(rows.size - row, 0, piece_rows()),
                                columns.size, m + row, n);
            });
    }

    void store_piece(int stage, int rows, int columns, int64_t m, int64_t n) const {
        uint8_t* d = g.d + (m * g.d_row_stride + n) * d_bytes();
        const int64_t row_bytes = int64_t{columns} * d_bytes();
        // As written by store_direct: D bypasses L2 unless it is added to.
        const auto l2_mode = static_cast<asc_store_l2_cache_mode>(g.accumulate ? 0 : 4);
        if (!g.has_alpha) {
            asc_sync_intra_wait(PIPE_MTE3, stage);
            asc_copy_ub2gm_align(d, ub_stage(stage), rows, row_bytes, l2_mode, g.d_row_stride * d_bytes(), ub_row_bytes());
        } else {
            asc_sync_intra_wait(PIPE_V, stage);
            for (int row = 0; row < rows; ++row)
                scale_row(reinterpret_cast<float*>(ub_stage(stage) + int64_t{row} * ub_row_bytes()),
                          ub_rounded(stage) + int64_t{row} * rounded_row_bytes(), columns);
            asc_sync_notify(PIPE_V, PIPE_MTE3, stage);
            asc_sync_wait(PIPE_V, PIPE_MTE3, stage);
            asc_copy_ub2gm_align(d, ub_rounded(stage), rows, row_bytes, l2_mode, g.d_row_stride * d_bytes(),
                                 rounded_row_bytes());
        }
        asc_sync_intra_arrive(PIPE_MTE3, stage);
    }

    // to = round(alpha * from), 64 fp32 lanes at a time.
    void scale_row(const float* from, uint8_t* to, int columns) const {
        ASC_VF;
        for (int column = 0; column < columns; column += 64) {
            uint32_t left = static_cast<uint32_t>(columns - column);
            const vector_bool live = asc_update_mask_b32(left);
            vector_f32 x;
            asc_loadalign(x, from + column, 0);
            asc_mul_scalar(x, x, g.alpha, live);
            if (g.d_fp32) {
                asc_storealign(reinterpret_cast<float*>(to) + column, x, 0, live);
            } else {
                vector_bf16 rounded;
                vcvt(rounded, x, live, ROUND_R, RS_DISABLE, PART_EVEN, MODE_ZEROING);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(to + column * 2), reinterpret_cast<vector_u32&>(rounded), 0, live);
            }
        }
    }
};

template <class A, class B>
void gemm_entry(const uint8_t* args) {
    const Gemm<A, B> gemm{*reinterpret_cast<const GemmArgs*>(args)};
    if (isa::on_cube_core())
        gemm.cube();
    else
        gemm.vector();
}

// ---- host side ------------------------------------------------------------------------------------------------------

// The fields all dense GEMMs share: see bf16_gemm.cpp.
template <class A, class B = A>
void run_gemm(const char* name, Device& device, int stream, FieldReader& fields) {
    using G = Gemm<A, B>;
    GemmArgs g{};
    g.m = fields.integer("m");
    g.n = fields.integer("n");
    g.k = fields.integer("k");
    const auto operand = [&](const std::string& x, size_t stored_bytes) {
        Operand o{};
        o.data = reinterpret_cast<uint8_t*>(fields.address(x.c_str()));
        const int64_t row = fields.integer((x + "_row_stride").c_str()), column = fields.integer((x + "_col_stride").c_str());
        o.mn_major = column != 1;
        o.row_stride = (o.mn_major ? column : row) * static_cast<int64_t>(stored_bytes);
        if (G::kScaled) {
            o.scales = reinterpret_cast<uint16_t*>(fields.address(("sf" + x).c_str()));
            o.scale_stride = fields.integer(("sf" + x + "_stride").c_str());
        }
        return o;
    };
    g.a = operand("a", sizeof(A));
    g.b = operand("b", sizeof(B));
    g.d = reinterpret_cast<uint8_t*>(fields.address("d"));
    g.d_row_stride = fields.integer("d_row_stride");
    g.d_fp32 = fields.integer("d_is_fp32") != 0;
    g.accumulate = fields.integer("accumulate") != 0;
    g.alpha = static_cast<float>(fields.real("alpha"));
    g.has_alpha = g.alpha != 1.0f;
    const auto cores = static_cast<int>(fields.integer("cores"));
    fields.finish();
    if (g.m <= 0 || g.n <= 0 || g.k <= 0)
        throw std::invalid_argument(format("%s: m, n and k must be positive, got %lld, %lld, %lld", name,
                                           (long long)g.m, (long long)g.n, (long long)g.k));
    const auto check_even = [&](const char* operand, const Operand& x, int64_t mn, bool is_packed) {
        if (is_packed && (x.mn_major ? mn : g.k) % 2)
            throw std::invalid_argument(format("%s: the packed axis of %s has %lld elements; it must be even", name, operand,
                                               (long long)(x.mn_major ? mn : g.k)));
    };
    check_even("a", g.a, g.m, isa::kElementBits<A> == 4);
    check_even("b", g.b, g.n, isa::kElementBits<B> == 4);
    const ChipSpec& chip = chip_spec();
    const int64_t d_row_bytes = g.d_row_stride * (g.d_fp32 ? 4 : 2);
    // A transposed load yields rows 32 or 64 at a time; FIX must drain them all, and only UB has room for the surplus.
    const auto whole = [](const Operand& x, int64_t extent) {
        return !(G::kScaled && x.mn_major) || align_up(extent, G::kUnit) == align_up(extent, 8);
    };
    const bool d_aligned = reinterpret_cast<uint64_t>(g.d) % 32 == 0 && d_row_bytes % 32 == 0 && whole(g.a, g.m) &&
                           whole(g.b, g.n);
    const Problem problem{g.m, g.n, g.k, G::kBits, isa::kElementBits<B>, G::kScaled, g.a.mn_major, g.b.mn_major,
                          g.d_fp32, g.accumulate, g.has_alpha, d_aligned,
                          cores > 0 ? std::min(cores, chip.cores) : chip.cores};
    g.tile = select_tile(problem, chip);
    g.blocks = static_cast<int>(std::min<int64_t>(problem.cores, g.tile.m_blocks * g.tile.n_blocks));
    const bool cube_only = g.tile.direct_store && !G::kExpandsB;
    const Kernel kernel{name, cube_only ? CoreType::cube : CoreType::mix, gemm_entry<A, B>,
                        /*data_independent=*/true, /*disjoint_atomics=*/true};
    launch(kernel, device, {g.blocks, stream, describe(g.tile)}, &g);
}

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
