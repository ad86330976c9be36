// SPDX-License-Identifier: MIT
// expand_sf: NVIDIA's scales into the int16 pairs that the GEMMs load: fp32 powers of two for 128 elements of k, or
// int32 words of four exponents for 32 or 128. A scale for 128 elements becomes four for 32: the same numbers.
// out[b, p, r] = bytes of k blocks 2p and 2p + 1 of 32 elements, row r / gran_mn; a missing last block is 0.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> GM, all vector cores, tiles of 512 rows x 16 pairs.
// Limit: V gathers a word for each row and pair, 64 rows in some 8 instructions; MTE3 writes 2 B: V.
//
// Fields: those of ScaleTiles and gran_k. fp32 values are taken by their exponent: the caller has checked.
#include "kernels/deep_gemm/scale_tiles.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

namespace {

struct ExpandSf : ScaleTiles {
    int64_t gran_k;

    // How many neighbouring pairs find their bytes in one word: fp32 has one scale of 128, so 2; int32 four of 32 or 128.
    int pairs_per_word() const { return fp32 ? 2 : gran_k == 128 ? 8 : 2; }
    int64_t first_word(const Tile& t) const { return t.pair / pairs_per_word(); }
    int words(const Tile& t) const {
        return static_cast<int>(ceil_div(t.pair + t.pairs, pairs_per_word()) - first_word(t));
    }

    static constexpr int kMaxWords = 8;  // a row of a tile needs: two pairs a word at least
    static constexpr int kSourceWords = kRows * (kMaxWords + 8);
    static uint32_t* source(int stage) { return reinterpret_cast<uint32_t*>(isa::ub_base()) + stage * kSourceWords; }
    static uint16_t* out(int stage) { return reinterpret_cast<uint16_t*>(source(kStreamStages)) + stage * kRows * kPairs; }
    static uint32_t* live() { return reinterpret_cast<uint32_t*>(out(kStreamStages)); }

    void expand(const Tile& t, int stage) const {
        ASC_VF;
        const int row_pitch = pitch(t, words(t), 4), column_step = row_contiguous() ? row_pitch : 1;
        const vector_bool all = asc_create_mask_b32(PAT_ALL);
        const bool doubled = gran_k == 128;  // both blocks of a pair share a scale
        vector_u32 keep, low_byte;
        asc_duplicate_scalar(keep, doubled ? 0xffu : 0xffffu, all);
        asc_duplicate_scalar(low_byte, 0xffu, all);
        for (int row = 0; row < t.rows; row += kLanes) {
            uint32_t left = static_cast<uint32_t>(t.rows - row);
            const vector_bool lanes = asc_update_mask_b32(left);
            vector_u32 base, is_live;
            row_index(base, row, row_pitch, all);
            asc_loadalign(is_live, live() + row, 0);
            for (int pair = 0; pair < t.pairs; ++pair) {
                const int64_t at = t.pair + pair, in_word = at % pairs_per_word();
                const int shift = fp32 ? 23 : doubled ? static_cast<int>(in_word / 2 * 8) : static_cast<int>(in_word * 16);
                vector_u32 index, value, high;
                asc_add_scalar(index, base, static_cast<uint32_t>((at / pairs_per_word() - first_word(t)) * column_step), all);
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

    void compute(const Tile& t, int stage) const {
        mark_live(t, live());
        expand(t, stage);
        asc_sync_notify(PIPE_V, PIPE_S, 0);
        asc_sync_wait(PIPE_V, PIPE_S, 0);
    }

    void run() const {
        stream_tiles(
            tiles(), cores,
            [&](int64_t id, int stage) { load(tile(id), first_word(tile(id)), words(tile(id)), 4, source(stage)); },
            [&](int64_t id, int stage) { compute(tile(id), stage); },
            [&](int64_t id, int stage) { store(tile(id), out(stage)); });
    }
};

void expand_sf_entry(const uint8_t* args) { reinterpret_cast<const ExpandSf*>(args)->run(); }

void run_expand_sf(Device& device, int stream, const Fields& fields) {
    FieldReader f("expand_sf", fields);
    ExpandSf a{};
    a.read("expand_sf", f);
    a.gran_k = f.integer("gran_k");
    f.finish();
    if (a.gran_k != 128 && (a.fp32 || a.gran_k != 32))
        throw std::invalid_argument(format("expand_sf: gran_k = %lld; accepted: 128, with int32 also 32",
                                           static_cast<long long>(a.gran_k)));
    if (a.tiles() <= 0) return;
    static const Kernel kernel{"expand_sf", CoreType::vector, expand_sf_entry, false, true};
    launch(kernel, device, {a.cores, stream, {}}, &a);
}

const KernelRegistration expand_sf("expand_sf", ASCEND_SIM_LEVEL_NAME, run_expand_sf);

}  // namespace

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
