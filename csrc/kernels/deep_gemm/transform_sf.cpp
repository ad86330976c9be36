// SPDX-License-Identifier: MIT
// transform_sf: block scales into the layout the GEMMs load: int16 pairs of e8m0, MN-major (deep_gemm.md 4.4).
// out[b, p, r] = exponent(sf[b, r / gran_mn, 2p]) | exponent(sf[b, r / gran_mn, 2p + 1]) << 8; a missing last block is 0.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> GM, all vector cores, tiles of 512 rows x 16 pairs.
// Limit: 4 B in and 1 B out an element at (100, 115) B/cycle a core pair; V gathers 16 elements a cycle: V.
//
// Fields: those of ScaleTiles.
#include "kernels/deep_gemm/scale_tiles.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

namespace {

constexpr uint32_t kNotPowerOfTwo = 0x807fffff;  // sign and mantissa of fp32

struct TransformSf : ScaleTiles {
    int element_bytes() const { return fp32 ? 4 : 2; }
    int per_pair() const { return fp32 ? 2 : 1; }  // source columns of a pair: int16 sources hold pairs already
    int columns(const Tile& t) const {
        return static_cast<int>(std::min<int64_t>(t.pairs * per_pair(), (fp32 ? k_blocks : pairs) - t.pair * per_pair()));
    }

    // UB: source tile, output tile (each twice), live flags of the rows, a vector of offending bits.
    static constexpr int kSourceBytes = kRows * (kPairs * 2 + 8) * 4;  // pitch up to 32 columns + one block
    static uint8_t* source(int stage) { return isa::ub_base() + stage * kSourceBytes; }
    static uint16_t* out(int stage) { return reinterpret_cast<uint16_t*>(source(kStreamStages)) + stage * kRows * kPairs; }
    static uint32_t* live() { return reinterpret_cast<uint32_t*>(out(kStreamStages)); }
    static uint32_t* offence() { return live() + kRows; }

    void pack_fp32(const Tile& t, int stage) const {
        ASC_VF;
        const auto* from = reinterpret_cast<const uint32_t*>(source(stage));
        const int row_pitch = pitch(t, columns(t), 4), column_step = row_contiguous() ? row_pitch : 1;
        const vector_bool all = asc_create_mask_b32(PAT_ALL);
        vector_u32 offending;
        asc_duplicate_scalar(offending, 0u, all);
        for (int row = 0; row < t.rows; row += kLanes) {
            uint32_t left = static_cast<uint32_t>(t.rows - row);
            const vector_bool lanes = asc_update_mask_b32(left);
            vector_u32 base, is_live;
            row_index(base, row, row_pitch, all);
            asc_loadalign(is_live, live() + row, 0);
            for (int pair = 0; pair < t.pairs; ++pair) {
                vector_u32 low, high, index, bad;
                asc_add_scalar(index, base, static_cast<uint32_t>(2 * pair * column_step), all);
                asc_gather(low, from, index, lanes);
                asc_and(low, low, is_live, lanes);
                asc_duplicate_scalar(high, 0u, all);
                if (2 * pair + 1 < columns(t)) {
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
    void pack_int16(const Tile& t, int stage) const {
        ASC_VF;
        const auto* from = reinterpret_cast<const uint32_t*>(source(stage));
        const int row_pitch = pitch(t, columns(t), 2), column_step = row_contiguous() ? row_pitch : 1;
        const vector_bool all = asc_create_mask_b32(PAT_ALL);
        for (int row = 0; row < t.rows; row += kLanes) {
            uint32_t left = static_cast<uint32_t>(t.rows - row);
            const vector_bool lanes = asc_update_mask_b32(left);
            vector_u32 base, is_live, odd, one, low_byte;
            asc_duplicate_scalar(low_byte, 0xffu, all);
            row_index(base, row, row_pitch, all);
            asc_loadalign(is_live, live() + row, 0);
            asc_duplicate_scalar(one, 1u, all);
            for (int pair = 0; pair < t.pairs; ++pair) {
                // 16-bit elements through 32-bit words: the word that holds it, then its half.
                vector_u32 index, word, value;
                asc_add_scalar(index, base, static_cast<uint32_t>(pair * column_step), all);
                asc_and(odd, index, one, all);
                asc_shiftleft_scalar(odd, odd, 4, all);
                asc_shiftright_scalar(index, index, 1, all);
                asc_gather(word, from, index, lanes);
                asc_shiftright(value, word, odd, lanes);
                asc_and(value, value, is_live, lanes);
                if (2 * (t.pair + pair) + 1 >= k_blocks) asc_and(value, value, low_byte, lanes);
                asc_storealign_pack(reinterpret_cast<uint32_t*>(out(stage) + pair * kRows + row), value, 0, lanes);
            }
        }
    }

    void compute(const Tile& t, int stage) const {
        mark_live(t, live());
        fp32 ? pack_fp32(t, stage) : pack_int16(t, stage);
        asc_sync_notify(PIPE_V, PIPE_S, 0);
        asc_sync_wait(PIPE_V, PIPE_S, 0);
        uint32_t bits = 0;
        for (int lane = 0; fp32 && lane < kLanes; ++lane) bits |= offence()[lane];
        if (bits & kNotPowerOfTwo)
            isa::vector_fault("device_assert", "Float32 SF must be non-negative and can't have non-zero mantissa", offence());
    }

    void run() const {
        stream_tiles(
            tiles(), cores,
            [&](int64_t id, int stage) {
                const Tile t = tile(id);
                load(t, t.pair * per_pair(), columns(t), element_bytes(), source(stage));
            },
            [&](int64_t id, int stage) { compute(tile(id), stage); },
            [&](int64_t id, int stage) { store(tile(id), out(stage)); });
    }
};

void transform_sf_entry(const uint8_t* args) { reinterpret_cast<const TransformSf*>(args)->run(); }

void run_transform_sf(Device& device, int stream, const Fields& fields) {
    FieldReader f("transform_sf", fields);
    TransformSf a{};
    a.read("transform_sf", f);
    f.finish();
    if (a.tiles() <= 0) return;
    static const Kernel kernel{"transform_sf", CoreType::vector, transform_sf_entry, false, true};
    launch(kernel, device, {a.cores, stream, {}}, &a);
}

const KernelRegistration transform_sf("transform_sf", ASCEND_SIM_LEVEL_NAME, run_transform_sf);

}  // namespace

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
