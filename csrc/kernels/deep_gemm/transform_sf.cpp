// SPDX-License-Identifier: MIT
// transform_sf: block scales into the layout the GEMMs load: int16 pairs of e8m0, MN-major (deep_gemm.md 4.4).
// out[b, p, r] = exponent(sf[b, r / gran_mn, 2p]) | exponent(sf[b, r / gran_mn, 2p + 1]) << 8; a missing last block is 0.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> GM, all vector cores, tiles of 512 rows x 16 pairs.
// Limit: 4 B in and 1 B out an element at (100, 115) B/cycle a core pair; V gathers 16 elements a cycle: V.
//
// Fields: src, dst; mn, k, gran_mn, batches; src_is_fp32; src_row_stride, src_col_stride, src_batch_stride in elements of
// the [ceil(mn/gran_mn), S] view, one of the first two 1; psum address or 0, num_groups: rows between a group's end and the
// next multiple of 256 are gaps, whatever they hold; their scales become 0.
#include "isa/kernel.h"
#include "kernels/deep_gemm/tile.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

namespace {

constexpr int kRows = 512, kPairs = 16;        // of a tile, in the output
constexpr int kLanes32 = 64;                   // 32-bit lanes of a register
constexpr int kStages = 2;
constexpr int kGroupAlignment = 256;           // rows at which m-groups begin
constexpr uint32_t kNotPowerOfTwo = 0x807fffff;  // sign and mantissa of fp32

struct TransformArgs {
    uint8_t* src;
    uint16_t* dst;
    int64_t mn, k_blocks, pairs, gran_mn, batches;
    bool fp32;
    int64_t row_stride, col_stride, batch_stride;  // elements
    const int32_t* psum;
    int64_t num_groups;
    int vector_cores;
};

struct SfTile {
    int64_t batch, row, pair;
    int rows, pairs;
};

struct Transform {
    const TransformArgs& a;
    const int element_bytes = a.fp32 ? 4 : 2;
    const int per_pair = a.fp32 ? 2 : 1;       // source columns of a pair: int16 sources hold pairs already
    const int64_t row_tiles = ceil_div(a.mn, kRows), pair_tiles = ceil_div(a.pairs, kPairs);
    const bool row_contiguous = a.row_stride == 1 && a.col_stride != 1;

    // UB: source tile, output tile (each twice), live flags of the rows, a vector of offending bits.
    static constexpr int kSourceBytes = kRows * (kPairs * 2 + 8) * 4;  // pitch up to 32 columns + one block
    static constexpr int kOutBytes = kRows * kPairs * 2;
    uint8_t* source(int stage) const { return isa::ub_base() + stage * kSourceBytes; }
    uint16_t* out(int stage) const {
        return reinterpret_cast<uint16_t*>(isa::ub_base() + kStages * kSourceBytes + stage * kOutBytes);
    }
    uint32_t* live() const {
        return reinterpret_cast<uint32_t*>(isa::ub_base() + kStages * (kSourceBytes + kOutBytes));
    }
    uint32_t* offence() const { return live() + kRows; }

    SfTile tile(int64_t id) const {
        SfTile t{};
        t.batch = id / (row_tiles * pair_tiles);
        t.row = id / pair_tiles % row_tiles * kRows;
        t.pair = id % pair_tiles * kPairs;
        t.rows = static_cast<int>(std::min<int64_t>(kRows, a.mn - t.row));
        t.pairs = static_cast<int>(std::min<int64_t>(kPairs, a.pairs - t.pair));
        return t;
    }
    int source_rows(const SfTile& t) const { return static_cast<int>(ceil_div(t.row + t.rows, a.gran_mn) - t.row / a.gran_mn); }
    int source_columns(const SfTile& t) const {
        const int64_t all = a.fp32 ? a.k_blocks : a.pairs;
        return static_cast<int>(std::min<int64_t>(t.pairs * per_pair, all - t.pair * per_pair));
    }
    // Elements between rows of the tile in UB: whole 32-byte blocks.
    int pitch(const SfTile& t) const {
        return static_cast<int>(align_up(row_contiguous ? source_rows(t) : source_columns(t), 32 / element_bytes));
    }

    void load(const SfTile& t, int stage) const {
        const int64_t first = t.batch * a.batch_stride + t.row / a.gran_mn * a.row_stride + t.pair * per_pair * a.col_stride;
        const uint8_t* from = a.src + first * element_bytes;
        const int bursts = row_contiguous ? source_columns(t) : source_rows(t);
        const int length = (row_contiguous ? source_rows(t) : source_columns(t)) * element_bytes;
        const int64_t stride = (row_contiguous ? a.col_stride : a.row_stride) * element_bytes;
        asc_copy_gm2ub_align(source(stage), from, bursts, length, 0, 0, false, asc_load_l2_cache_mode{0}, stride,
                             int64_t{pitch(t)} * element_bytes);
    }

    // Scalar: which rows of the tile count. All ones or zero per row.
    void mark_live(const SfTile& t) const {
        for (int row = 0; row < t.rows; ++row) live()[row] = ~0u;
        for (int64_t group = 0; group < a.num_groups; ++group) {
            const int64_t end = a.psum[group], next = align_up(end, kGroupAlignment);
            // Scales of a partly live granule stay: the gap begins at the granule behind it.
            const int64_t gap = align_up(end, a.gran_mn);
            for (int64_t row = std::max(gap, t.row); row < std::min(next, t.row + t.rows); ++row) live()[row - t.row] = 0;
        }
    }

    // Index register: element of the tile for each of 64 output rows, column 0.
    void row_index(vector_u32& index, int row, const SfTile& t, const vector_bool& all) const {
        asc_arange(index, static_cast<uint32_t>(row));
        asc_shiftright_scalar(index, index, __builtin_ctzll(static_cast<uint64_t>(a.gran_mn)), all);
        if (!row_contiguous) asc_mul_scalar(index, index, static_cast<uint32_t>(pitch(t)), all);
    }

    void pack_fp32(const SfTile& t, int stage) const {
        ASC_VF;
        const auto* from = reinterpret_cast<const uint32_t*>(source(stage));
        const int column_step = row_contiguous ? pitch(t) : 1, columns = source_columns(t);
        const vector_bool all = asc_create_mask_b32(PAT_ALL);
        vector_u32 offending;
        asc_duplicate_scalar(offending, 0u, all);
        for (int row = 0; row < t.rows; row += kLanes32) {
            uint32_t left = static_cast<uint32_t>(t.rows - row);
            const vector_bool lanes = asc_update_mask_b32(left);
            vector_u32 base, is_live;
            row_index(base, row, t, all);
            asc_loadalign(is_live, live() + row, 0);
            for (int pair = 0; pair < t.pairs; ++pair) {
                vector_u32 low, high, index, bad;
                asc_add_scalar(index, base, static_cast<uint32_t>(2 * pair * column_step), all);
                asc_gather(low, from, index, lanes);
                asc_and(low, low, is_live, lanes);
                asc_duplicate_scalar(high, 0u, all);
                if (2 * pair + 1 < columns) {
                    asc_add_scalar(index, index, static_cast<uint32_t>(column_step), all);
                    asc_gather(high, from, index, lanes);
                    asc_and(high, high, is_live, lanes);
                }
                asc_or(bad, low, high, lanes);
                asc_or(offending, offending, bad, all);
                asc_shiftright_scalar(low, low, 23, lanes);
                asc_shiftright_scalar(high, high, 23, lanes);
                asc_shiftleft_scalar(high, high, 8, lanes);
                asc_or(low, low, high, lanes);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(out(stage) + pair * kRows + row), low, 0, lanes);
            }
        }
        asc_storealign(offence(), offending, 0, all);
    }

    // Pairs already: only repeated, transposed and cleared in gaps and behind the last block.
    void pack_int16(const SfTile& t, int stage) const {
        ASC_VF;
        const auto* from = reinterpret_cast<const uint16_t*>(source(stage));
        const int column_step = row_contiguous ? pitch(t) : 1;
        const vector_bool all = asc_create_mask_b32(PAT_ALL);
        for (int row = 0; row < t.rows; row += kLanes32) {
            uint32_t left = static_cast<uint32_t>(t.rows - row);
            const vector_bool lanes = asc_update_mask_b32(left);
            vector_u32 base, is_live, odd, one, low_byte;
            asc_duplicate_scalar(low_byte, 0xffu, all);
            row_index(base, row, t, all);
            asc_loadalign(is_live, live() + row, 0);
            asc_duplicate_scalar(one, 1u, all);
            for (int pair = 0; pair < t.pairs; ++pair) {
                // 16-bit elements through 32-bit words: the word that holds it, then its half.
                vector_u32 index, word, value;
                asc_add_scalar(index, base, static_cast<uint32_t>(pair * column_step), all);
                asc_and(odd, index, one, all);
                asc_shiftleft_scalar(odd, odd, 4, all);
                asc_shiftright_scalar(index, index, 1, all);
                asc_gather(word, reinterpret_cast<const uint32_t*>(from), index, lanes);
                asc_shiftright(value, word, odd, lanes);
                asc_and(value, value, is_live, lanes);
                if (2 * (t.pair + pair) + 1 >= a.k_blocks) asc_and(value, value, low_byte, lanes);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(out(stage) + pair * kRows + row), value, 0, lanes);
            }
        }
    }

    void check(const SfTile& t) const {
        asc_sync_notify(PIPE_V, PIPE_S, 0);
        asc_sync_wait(PIPE_V, PIPE_S, 0);
        uint32_t bits = 0;
        for (int lane = 0; lane < kLanes32; ++lane) bits |= offence()[lane];
        if (bits & kNotPowerOfTwo)
            isa::vector_fault("device_assert",
                              "Float32 SF must be non-negative and can't have non-zero mantissa", offence());
    }

    void store(const SfTile& t, int stage) const {
        uint16_t* to = a.dst + (t.batch * a.pairs + t.pair) * a.mn + t.row;
        asc_copy_ub2gm_align(to, out(stage), t.pairs, int64_t{t.rows} * 2, asc_store_l2_cache_mode{0}, a.mn * 2, kRows * 2);
    }

    void run() const {
        const int64_t tiles = a.batches * row_tiles * pair_tiles;
        for (int stage = 0; stage < kStages; ++stage) {
            asc_sync_notify(PIPE_V, PIPE_MTE2, stage);
            asc_sync_notify(PIPE_MTE3, PIPE_V, stage);
        }
        int step = 0;
        for (int64_t id = block_idx; id < tiles; id += a.vector_cores, ++step) {
            const SfTile t = tile(id);
            const int stage = step % kStages;
            asc_sync_wait(PIPE_V, PIPE_MTE2, stage);
            load(t, stage);
            asc_sync_notify(PIPE_MTE2, PIPE_V, stage);
            mark_live(t);
            asc_sync_wait(PIPE_MTE2, PIPE_V, stage);
            asc_sync_wait(PIPE_MTE3, PIPE_V, stage);
            if (a.fp32)
                pack_fp32(t, stage);
            else
                pack_int16(t, stage);
            asc_sync_notify(PIPE_V, PIPE_MTE2, stage);
            asc_sync_notify(PIPE_V, PIPE_MTE3, stage);
            // The next tile's live flags overwrite what V reads: S waits for V in either case.
            if (a.fp32) {
                check(t);
            } else {
                asc_sync_notify(PIPE_V, PIPE_S, 0);
                asc_sync_wait(PIPE_V, PIPE_S, 0);
            }
            asc_sync_wait(PIPE_V, PIPE_MTE3, stage);
            store(t, stage);
            asc_sync_notify(PIPE_MTE3, PIPE_V, stage);
        }
        for (int stage = 0; stage < kStages; ++stage) {
            asc_sync_wait(PIPE_V, PIPE_MTE2, stage);
            asc_sync_wait(PIPE_MTE3, PIPE_V, stage);
        }
    }
};

void transform_entry(const uint8_t* args) { Transform{*reinterpret_cast<const TransformArgs*>(args)}.run(); }

void run_transform(Device& device, int stream, const Fields& fields) {
    FieldReader f("transform_sf", fields);
    TransformArgs a{};
    a.src = reinterpret_cast<uint8_t*>(f.address("src"));
    a.dst = reinterpret_cast<uint16_t*>(f.address("dst"));
    a.mn = f.integer("mn");
    const int64_t k = f.integer("k");
    a.k_blocks = ceil_div(k, 32);
    a.pairs = ceil_div(a.k_blocks, 2);
    a.gran_mn = f.integer("gran_mn");
    a.batches = f.integer("batches");
    a.fp32 = f.integer("src_is_fp32") != 0;
    a.row_stride = f.integer("src_row_stride");
    a.col_stride = f.integer("src_col_stride");
    a.batch_stride = f.integer("src_batch_stride");
    a.psum = reinterpret_cast<const int32_t*>(f.address("psum"));
    a.num_groups = f.integer("num_groups");
    f.finish();
    if (a.gran_mn < 1 || a.gran_mn > 128 || (a.gran_mn & (a.gran_mn - 1)))
        throw std::invalid_argument(format("transform_sf: gran_mn = %lld; accepted: powers of two up to 128", (long long)a.gran_mn));
    const int64_t tiles = a.batches * ceil_div(a.mn, kRows) * ceil_div(a.pairs, kPairs);
    if (tiles <= 0) return;
    a.vector_cores = static_cast<int>(std::min<int64_t>(tiles, 2 * chip_spec().cores));
    static const Kernel kernel{"transform_sf", CoreType::vector, transform_entry, false, true};
    launch(kernel, device, {a.vector_cores, stream, {}}, &a);
}

const KernelRegistration transform_sf("transform_sf", ASCEND_SIM_LEVEL_NAME, run_transform);

}  // namespace

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
