// SPDX-License-Identifier: MIT
// expand_sf: NVIDIA's scales into the int16 pairs that the GEMMs load: fp32 powers of two for 128 elements of k, or
// int32 words of four exponents for 32 or 128. A scale for 128 elements becomes four for 32: the same numbers.
// out[b, p, r] = bytes of k blocks 2p and 2p + 1 of 32 elements, row r / gran_mn; a missing last block is 0.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> GM, all vector cores, tiles of 512 rows x 16 pairs.
// Limit: V gathers a word for each row and pair, 64 rows in some 8 instructions; MTE3 writes 2 B: V.
//
// Fields: src, dst; mn, k, gran_mn, gran_k, batches; src_is_fp32; src_row_stride, src_col_stride, src_batch_stride in
// elements of the [ceil(mn/gran_mn), S] view, one of the first two 1; psum address or 0, num_groups: rows between a
// group's end and the next multiple of 256 get bytes 0. fp32 values are taken by their exponent: the caller has checked.
#include "kernels/deep_gemm/vector_stream.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

namespace {

constexpr int kRows = 512, kPairs = 16;        // of a tile, in the output
constexpr int kLanes = 64;                     // 32-bit lanes of a register
constexpr int kMaxWords = 8;                   // a row of a tile needs: two pairs a word at least
constexpr int kGroupAlignment = 256;           // rows at which m-groups begin

struct ExpandSf {
    const uint32_t* src;
    uint16_t* dst;
    int64_t mn, k_blocks, pairs, gran_mn, gran_k, batches, row_stride, col_stride, batch_stride;
    bool fp32;
    const int32_t* psum;
    int64_t num_groups;
    int cores;

    struct Tile {
        int64_t batch, row, pair, word;
        int rows, pairs, sf_rows, words;
    };
    // How many neighbouring pairs find their bytes in one word: fp32 has one scale of 128, so 2; int32 four of 32 or 128.
    int pairs_per_word() const { return fp32 ? 2 : gran_k == 128 ? 8 : 2; }
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
        t.word = t.pair / pairs_per_word();
        t.sf_rows = static_cast<int>(ceil_div(t.row + t.rows, gran_mn) - t.row / gran_mn);
        t.words = static_cast<int>(ceil_div(t.pair + t.pairs, pairs_per_word()) - t.word);
        return t;
    }
    bool row_contiguous() const { return row_stride == 1 && col_stride != 1; }
    // Words between rows (or columns) of the source tile in UB: whole 32 bytes.
    int pitch(const Tile& t) const { return static_cast<int>(align_up(row_contiguous() ? t.sf_rows : t.words, 8)); }

    static constexpr int kSourceWords = kRows * (kMaxWords + 8);
    static uint32_t* source(int stage) { return reinterpret_cast<uint32_t*>(isa::ub_base()) + stage * kSourceWords; }
    static uint16_t* out(int stage) { return reinterpret_cast<uint16_t*>(source(kStreamStages)) + stage * kRows * kPairs; }
    static uint32_t* live() { return reinterpret_cast<uint32_t*>(out(kStreamStages)); }

    void load(int64_t id, int stage) const {
        const Tile t = tile(id);
        const bool by_row = !row_contiguous();
        asc_copy_gm2ub_align(source(stage), src + t.batch * batch_stride + t.row / gran_mn * row_stride + t.word * col_stride,
                             by_row ? t.sf_rows : t.words, int64_t{by_row ? t.words : t.sf_rows} * 4, 0, 0, false,
                             asc_load_l2_cache_mode{0}, (by_row ? row_stride : col_stride) * 4, int64_t{pitch(t)} * 4);
    }

    // Scalar: all ones for rows that count, 0 for rows between groups. Scales of a partly live granule stay.
    void mark_live(const Tile& t) const {
        for (int row = 0; row < t.rows; ++row) live()[row] = ~0u;
        for (int64_t group = 0; group < num_groups; ++group) {
            const int64_t end = psum[group], next = align_up(end, kGroupAlignment);
            for (int64_t row = std::max(align_up(end, gran_mn), t.row); row < std::min(next, t.row + t.rows); ++row)
                live()[row - t.row] = 0;
        }
    }

    void expand(const Tile& t, int stage) const {
        ASC_VF;
        const int column_step = row_contiguous() ? pitch(t) : 1;
        const vector_bool all = asc_create_mask_b32(PAT_ALL);
        const bool doubled = gran_k == 128;            // both blocks of a pair share a scale
        vector_u32 keep, low_byte;
        asc_duplicate_scalar(keep, doubled ? 0xffu : 0xffffu, all);
        asc_duplicate_scalar(low_byte, 0xffu, all);
        for (int row = 0; row < t.rows; row += kLanes) {
            uint32_t left = static_cast<uint32_t>(t.rows - row);
            const vector_bool lanes = asc_update_mask_b32(left);
            vector_u32 base, is_live;
            asc_arange(base, static_cast<uint32_t>(row));
            asc_shiftright_scalar(base, base, __builtin_ctzll(static_cast<uint64_t>(gran_mn)), all);
            if (!row_contiguous()) asc_mul_scalar(base, base, static_cast<uint32_t>(pitch(t)), all);
            asc_loadalign(is_live, live() + row, 0);
            for (int pair = 0; pair < t.pairs; ++pair) {
                const int64_t at = t.pair + pair, in_word = at % pairs_per_word();
                const int shift = fp32 ? 23 : doubled ? static_cast<int>(in_word / 2 * 8) : static_cast<int>(in_word * 16);
                vector_u32 index, value, high;
                asc_add_scalar(index, base, static_cast<uint32_t>((at / pairs_per_word() - t.word) * column_step), all);
                asc_gather(value, source(stage), index, lanes);
                asc_shiftright_scalar(value, value, shift, lanes);
                asc_and(value, value, keep, lanes);
                if (doubled) {
                    asc_shiftleft_scalar(high, value, 8, lanes);
                    asc_or(value, value, high, lanes);
                }
                if (2 * at + 1 >= k_blocks) asc_and(value, value, low_byte, lanes);
                asc_and(value, value, is_live, lanes);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(out(stage) + pair * kRows + row), value, 0, lanes);
            }
        }
    }

    void compute(int64_t id, int stage) const {
        const Tile t = tile(id);
        mark_live(t);
        asc_sync_notify(PIPE_S, PIPE_V, 0);
        asc_sync_wait(PIPE_S, PIPE_V, 0);
        expand(t, stage);
        asc_sync_notify(PIPE_V, PIPE_S, 0);            // the next tile's live flags overwrite what V reads
        asc_sync_wait(PIPE_V, PIPE_S, 0);
    }

    void store(int64_t id, int stage) const {
        const Tile t = tile(id);
        asc_copy_ub2gm_align(dst + (t.batch * pairs + t.pair) * mn + t.row, out(stage), t.pairs, int64_t{t.rows} * 2,
                             asc_store_l2_cache_mode{0}, mn * 2, kRows * 2);
    }

    void run() const {
        stream_tiles(tiles(), cores, [&](int64_t id, int stage) { load(id, stage); },
                     [&](int64_t id, int stage) { compute(id, stage); }, [&](int64_t id, int stage) { store(id, stage); });
    }
};

void expand_sf_entry(const uint8_t* args) { reinterpret_cast<const ExpandSf*>(args)->run(); }

void run_expand_sf(Device& device, int stream, const Fields& fields) {
    FieldReader f("expand_sf", fields);
    ExpandSf a{};
    a.src = reinterpret_cast<const uint32_t*>(f.address("src"));
    a.dst = reinterpret_cast<uint16_t*>(f.address("dst"));
    a.mn = f.integer("mn");
    const int64_t k = f.integer("k");
    a.k_blocks = ceil_div(k, 32);
    a.pairs = ceil_div(a.k_blocks, 2);
    a.gran_mn = f.integer("gran_mn");
    a.gran_k = f.integer("gran_k");
    a.batches = f.integer("batches");
    a.fp32 = f.integer("src_is_fp32") != 0;
    a.row_stride = f.integer("src_row_stride");
    a.col_stride = f.integer("src_col_stride");
    a.batch_stride = f.integer("src_batch_stride");
    a.psum = reinterpret_cast<const int32_t*>(f.address("psum"));
    a.num_groups = f.integer("num_groups");
    f.finish();
    if (a.gran_mn < 1 || a.gran_mn > 128 || (a.gran_mn & (a.gran_mn - 1)) || (a.gran_k != 128 && (a.fp32 || a.gran_k != 32)))
        throw std::invalid_argument(format("expand_sf: gran_mn = %lld, gran_k = %lld; accepted: gran_mn a power of two up to 128, "
                                           "gran_k 128, with int32 also 32", (long long)a.gran_mn, (long long)a.gran_k));
    if (a.tiles() <= 0) return;
    a.cores = vector_cores_for(a.tiles());
    static const Kernel kernel{"expand_sf", CoreType::vector, expand_sf_entry, false, true};
    launch(kernel, device, {a.cores, stream, {}}, &a);
}

const KernelRegistration expand_sf("expand_sf", ASCEND_SIM_LEVEL_NAME, run_expand_sf);

}  // namespace

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
