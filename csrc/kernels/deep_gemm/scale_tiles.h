// SPDX-License-Identifier: MIT
// What do kernels share that write scales in the layout the GEMMs load: int16 pairs of e8m0, [batches, pairs, mn]? The
// fields they read, tiles of 512 rows x 16 pairs, the rows between groups, the store.
#pragma once

#include "kernels/deep_gemm/vector_stream.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

// Fields: src, dst; mn, k, gran_mn, batches; src_is_fp32; src_row_stride, src_col_stride, src_batch_stride in elements of
// the [ceil(mn/gran_mn), S] view, one of the first two 1; psum address or 0, num_groups: rows between a group's end and the
// next multiple of 256 are gaps, whatever they hold; their scales become 0.
struct ScaleTiles {
    static constexpr int kRows = 512, kPairs = 16;  // of a tile, in the output
    static constexpr int kLanes = 64;               // 32-bit lanes of a register
    static constexpr int kGroupAlignment = 256;     // rows at which m-groups begin

    const uint8_t* src;
    uint16_t* dst;
    int64_t mn, k_blocks, pairs, gran_mn, batches, row_stride, col_stride, batch_stride;
    bool fp32;
    const int32_t* psum;
    int64_t num_groups;
    int cores;

    struct Tile {
        int64_t batch, row, pair;
        int rows, pairs, source_rows;
    };

    void read(const char* kernel, FieldReader& f) {
        src = reinterpret_cast<const uint8_t*>(f.address("src"));
        dst = reinterpret_cast<uint16_t*>(f.address("dst"));
        mn = f.integer("mn");
        k_blocks = ceil_div(f.integer("k"), 32);
        pairs = ceil_div(k_blocks, 2);
        gran_mn = f.integer("gran_mn");
        batches = f.integer("batches");
        fp32 = f.integer("src_is_fp32") != 0;
        row_stride = f.integer("src_row_stride");
        col_stride = f.integer("src_col_stride");
        batch_stride = f.integer("src_batch_stride");
        psum = reinterpret_cast<const int32_t*>(f.address("psum"));
        num_groups = f.integer("num_groups");
        cores = vector_cores_for(tiles());
        if (gran_mn < 1 || gran_mn > 128 || (gran_mn & (gran_mn - 1)))
            throw std::invalid_argument(
                format("%s: gran_mn = %lld; accepted: powers of two up to 128", kernel, static_cast<long long>(gran_mn)));
    }

    int64_t row_tiles() const { return ceil_div(mn, kRows); }
    int64_t pair_tiles() const { return ceil_div(pairs, kPairs); }
    int64_t tiles() const { return batches * row_tiles() * pair_tiles(); }
    Tile tile(int64_t id) const {
        Tile t{};
        t.batch = id / (row_tiles() * pair_tiles());
        t.row = id / pair_tiles() % row_tiles() * kRows;
        t.pair = id % pair_tiles() * kPairs;
        t.rows = static_cast<int>(std::min<int64_t>(kRows, mn - t.row));
        t.pairs = static_cast<int>(std::min<int64_t>(kPairs, pairs - t.pair));
        t.source_rows = static_cast<int>(ceil_div(t.row + t.rows, gran_mn) - t.row / gran_mn);
        return t;
    }

    bool row_contiguous() const { return row_stride == 1 && col_stride != 1; }
    // Elements between rows (or columns) of the source tile in UB: whole 32 bytes.
    int pitch(const Tile& t, int columns, int element_bytes) const {
        return static_cast<int>(align_up(row_contiguous() ? t.source_rows : columns, 32 / element_bytes));
    }
    // Columns first_column .. of the tile's rows.
    void load(const Tile& t, int64_t first_column, int columns, int element_bytes, void* ub) const {
        const int64_t first = t.batch * batch_stride + t.row / gran_mn * row_stride + first_column * col_stride;
        const bool by_row = !row_contiguous();
        asc_copy_gm2ub_align(static_cast<uint8_t*>(ub), src + first * element_bytes, by_row ? t.source_rows : columns,
                             int64_t{by_row ? columns : t.source_rows} * element_bytes, 0, 0, false,
                             asc_load_l2_cache_mode{0}, (by_row ? row_stride : col_stride) * element_bytes,
                             int64_t{pitch(t, columns, element_bytes)} * element_bytes);
    }
    void store(const Tile& t, uint16_t* out) const {
        asc_copy_ub2gm_align(dst + (t.batch * pairs + t.pair) * mn + t.row, out, t.pairs, int64_t{t.rows} * 2,
                             asc_store_l2_cache_mode{0}, mn * 2, kRows * 2);
    }

    // Scalar, for V: all ones for rows that count, 0 for rows between groups. Scales of a partly live granule stay. Before
    // it is called again S must have waited for V.
    void mark_live(const Tile& t, uint32_t* live) const {
        for (int row = 0; row < t.rows; ++row) live[row] = ~0u;
        for (int64_t group = 0; group < num_groups; ++group) {
            const int64_t end = psum[group], next = align_up(end, kGroupAlignment);
            for (int64_t row = std::max(align_up(end, gran_mn), t.row); row < std::min(next, t.row + t.rows); ++row)
                live[row - t.row] = 0;
        }
        asc_sync_notify(PIPE_S, PIPE_V, 0);
        asc_sync_wait(PIPE_S, PIPE_V, 0);
    }

    // For 64 rows of the output from `row` on: the element of the source tile in its first column.
    void row_index(vector_u32& index, int row, int pitch, const vector_bool& all) const {
        asc_arange(index, static_cast<uint32_t>(row));
        asc_shiftright_scalar(index, index, __builtin_ctzll(static_cast<uint64_t>(gran_mn)), all);
        if (!row_contiguous()) asc_mul_scalar(index, index, static_cast<uint32_t>(pitch), all);
    }
};

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
