// SPDX-License-Identifier: MIT
// split_fp8: e4m3 times fp32 scales that are no powers of two, as bf16: hi = bf16(x), lo = bf16(x - hi), three columns
// of k a row: [hi | hi | lo], or [hi | lo | hi]. One bf16 GEMM of three times the k then sums hi*hi + hi*lo + lo*hi,
// which is the product of the fp32 values up to 2^-16 of each term.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> GM, all vector cores, tiles of 16 rows x 512 columns.
// Limit: V takes 8 instructions for 64 elements, MTE3 writes 6 B an element: MTE3.
//
// Fields: src, dst; mn, k; row_stride in elements (k is contiguous); dst holds rows of 3 k elements; lo_second 0 or 1;
// sf, one scale for gran_mn rows and 128 elements of k; sf_row_stride, sf_col_stride in elements, one of them 1.
#include "kernels/deep_gemm/vector_stream.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

namespace {

constexpr int kRows = 16, kColumns = 512;      // of a tile
constexpr int kGranK = 128;
constexpr int kScalePitch = 24;                // rows and columns of scales in a tile are fewer; whole 32 bytes
constexpr int kLanes = 64;                     // of a register in fp32

struct SplitFp8 {
    const float8_e4m3_t* src;
    uint16_t* dst;
    const float* sf;
    int64_t mn, k, row_stride, gran_mn, sf_row_stride, sf_col_stride;
    bool lo_second;
    int cores;

    struct Tile {
        int64_t row, column, sf_row, sf_column;
        int rows, columns, sf_rows, sf_columns;
    };
    int64_t column_tiles() const { return ceil_div(k, kColumns); }
    int64_t tiles() const { return ceil_div(mn, kRows) * column_tiles(); }
    Tile tile(int64_t id) const {
        Tile t{};
        t.row = id / column_tiles() * kRows;
        t.column = id % column_tiles() * kColumns;
        t.rows = static_cast<int>(std::min<int64_t>(kRows, mn - t.row));
        t.columns = static_cast<int>(std::min<int64_t>(kColumns, k - t.column));
        t.sf_row = t.row / gran_mn;
        t.sf_column = t.column / kGranK;
        t.sf_rows = static_cast<int>(ceil_div(t.row + t.rows, gran_mn) - t.sf_row);
        t.sf_columns = static_cast<int>(ceil_div(t.columns, kGranK));
        return t;
    }
    bool scale_rows_contiguous() const { return sf_row_stride == 1 && sf_col_stride != 1; }

    // UB: data and scales of two tiles, then hi and lo of two tiles.
    static float8_e4m3_t* data(int stage) {
        return reinterpret_cast<float8_e4m3_t*>(isa::ub_base() + stage * kRows * kColumns);
    }
    static float* scales(int stage) {
        return reinterpret_cast<float*>(isa::ub_base() + kStreamStages * kRows * kColumns) + stage * kScalePitch * kScalePitch;
    }
    static uint16_t* out(int stage, int part) {
        return reinterpret_cast<uint16_t*>(scales(kStreamStages)) + (stage * 2 + part) * kRows * kColumns;
    }

    void load(int64_t id, int stage) const {
        const Tile t = tile(id);
        asc_copy_gm2ub_align(reinterpret_cast<uint8_t*>(data(stage)), reinterpret_cast<const uint8_t*>(src) + t.row * row_stride + t.column,
                             t.rows, t.columns, 0, 0, false, asc_load_l2_cache_mode{0}, row_stride, kColumns);
        const bool by_row = !scale_rows_contiguous();
        asc_copy_gm2ub_align(scales(stage), sf + t.sf_row * sf_row_stride + t.sf_column * sf_col_stride,
                             by_row ? t.sf_rows : t.sf_columns, int64_t{by_row ? t.sf_columns : t.sf_rows} * 4, 0, 0, false,
                             asc_load_l2_cache_mode{0}, (by_row ? sf_row_stride : sf_col_stride) * 4, kScalePitch * 4);
    }

    void split(int64_t id, int stage) const {
        ASC_VF;
        const Tile t = tile(id);
        const vector_bool lanes = asc_create_mask_b32(PAT_ALL);
        const bool by_row = !scale_rows_contiguous();
        for (int row = 0; row < t.rows; ++row) {
            const int sf_row = static_cast<int>((t.row + row) / gran_mn - t.sf_row);
            for (int column = 0; column < t.columns; column += kLanes) {
                const int sf_column = column / kGranK;
                vector_f8e4m3 codes;
                vector_f32 value, scale, high_value;
                vector_bf16 high, low;
                asc_loadalign_unpack4(codes, data(stage) + row * kColumns + column, 0);
                asc_loadalign_brc_elem(scale, scales(stage) + (by_row ? sf_row * kScalePitch + sf_column : sf_column * kScalePitch + sf_row), 0);
                vcvt(value, codes, lanes, PART_P0, MODE_ZEROING);
                asc_mul(value, value, scale, lanes);
                vcvt(high, value, lanes, ROUND_R, RS_DISABLE, PART_EVEN, MODE_ZEROING);
                vcvt(high_value, high, lanes, PART_EVEN, MODE_ZEROING);
                asc_sub(value, value, high_value, lanes);
                vcvt(low, value, lanes, ROUND_R, RS_DISABLE, PART_EVEN, MODE_ZEROING);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(out(stage, 0) + row * kColumns + column),
                                    reinterpret_cast<vector_u32&>(high), 0, lanes);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(out(stage, 1) + row * kColumns + column),
                                    reinterpret_cast<vector_u32&>(low), 0, lanes);
            }
        }
    }

    void store(int64_t id, int stage) const {
        const Tile t = tile(id);
        for (int third = 0; third < 3; ++third) {
            const bool is_low = third == (lo_second ? 1 : 2);
            asc_copy_ub2gm_align(dst + (t.row * 3 + third) * k + t.column, out(stage, is_low), t.rows, int64_t{t.columns} * 2,
                                 asc_store_l2_cache_mode{0}, 3 * k * 2, kColumns * 2);
        }
    }

    void run() const {
        stream_tiles(tiles(), cores, [&](int64_t id, int stage) { load(id, stage); }, [&](int64_t id, int stage) { split(id, stage); },
                     [&](int64_t id, int stage) { store(id, stage); });
    }
};

void split_fp8_entry(const uint8_t* args) { reinterpret_cast<const SplitFp8*>(args)->run(); }

void run_split_fp8(Device& device, int stream, const Fields& fields) {
    FieldReader f("split_fp8", fields);
    SplitFp8 a{};
    a.src = reinterpret_cast<const float8_e4m3_t*>(f.address("src"));
    a.dst = reinterpret_cast<uint16_t*>(f.address("dst"));
    a.sf = reinterpret_cast<const float*>(f.address("sf"));
    a.mn = f.integer("mn");
    a.k = f.integer("k");
    a.row_stride = f.integer("row_stride");
    a.gran_mn = f.integer("gran_mn");
    a.sf_row_stride = f.integer("sf_row_stride");
    a.sf_col_stride = f.integer("sf_col_stride");
    a.lo_second = f.integer("lo_second") != 0;
    f.finish();
    if (a.gran_mn < 1)
        throw std::invalid_argument(format("split_fp8: gran_mn = %lld; accepted: from 1", (long long)a.gran_mn));
    if (a.mn <= 0 || a.k <= 0) return;
    a.cores = vector_cores_for(a.tiles());
    static const Kernel kernel{"split_fp8", CoreType::vector, split_fp8_entry, true, true};
    launch(kernel, device, {a.cores, stream, {}}, &a);
}

const KernelRegistration split_fp8("split_fp8", ASCEND_SIM_LEVEL_NAME, run_split_fp8);

}  // namespace

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
