// SPDX-License-Identifier: MIT
// How does FP4 B become E4M3 on its way to the cube? Vector core 0, and 1 where it has no epilogue, loads it,
// looks every code up and hands it to L1.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> L1, where MTE1 finds what MTE2 would have put there for e4m3.
// Limit: V looks up 64 codes a cycle and core (register gather), MTE3 moves 128 B; a 256 x 256 block asks for 32.
//
// Flags, of packed stage p and expanded stage e: MTE2->V and V->MTE2 p, V->MTE3 and MTE3->V e. With the cube
// core, of L1 stage s: MTE3 arrives at s when B is there, MTE1 arrives at s when it may be overwritten.
#pragma once

#include "isa/kernel.h"
#include "kernels/deep_gemm/tile.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

// The B of one k block. A line is contiguous in global memory: the k of a row of B if B is K-major, else the n
// of a k.
struct PackedTile {
    const uint8_t* gm;
    int64_t line_stride;  // bytes
    int lines, elements;  // live; elements of a line, an even number
    int l1_lines, l1_units;  // what the cube reads, units of 32 elements: zero behind what is live
    int l1_pitch;         // units of 32 bytes from one column of units to the next
    int64_t l1;           // byte offset

    // The part of one of two vector cores: half of the lines, by pairs.
    PackedTile half(bool second) const {
        const int middle = static_cast<int>(align_up(ceil_div(l1_lines, 2), 2));
        const int first = second ? middle : 0, end = second ? l1_lines : std::min(middle, l1_lines);
        PackedTile part = *this;
        part.gm += first * line_stride;
        part.lines = std::clamp(lines - first, 0, std::max(end - first, 0));
        part.l1_lines = std::max(end - first, 0);
        part.l1 += int64_t{first} * 32;
        return part;
    }
};

struct Fp4Expander {
    static constexpr int kPackedStages = 3, kExpandedStages = 2;
    static constexpr int kPackedBytes = 32 * 1024;  // of a stage: a chunk of lines
    const int slice;                                // elements kept per line, live or not: 256 or 512
    const int chunk_lines = kPackedBytes * 2 / slice;
    // UB holds the expanded chunk as L1 does, one row of units longer: with an odd pitch the blocks of a store
    // fall into different banks.
    const int pitch = chunk_lines + 1;
    int packed_step = 0, expanded_step = 0;

    explicit Fp4Expander(int slice_elements) : slice(slice_elements) {}

    int expanded_bytes() const { return slice / 32 * pitch * 32; }
    uint8_t* packed(int stage) const { return isa::ub_base() + stage * kPackedBytes; }
    uint8_t* expanded(int stage) const {
        return isa::ub_base() + kPackedStages * kPackedBytes + stage * expanded_bytes();
    }
    uint8_t* table(bool high_nibble) const { return expanded(kExpandedStages) + high_nibble * 256; }

    // E4M3 of the low and of the high nibble of every byte: looked up by the byte itself.
    void begin() const {
        for (int byte = 0; byte < 256; ++byte) {
            table(false)[byte] = e4m3_of(byte & 0xf);
            table(true)[byte] = e4m3_of(byte >> 4);
        }
        asc_sync_notify(PIPE_S, PIPE_V, 0);
        asc_sync_wait(PIPE_S, PIPE_V, 0);
        asc_set_copy_pad_val(uint8_t{0});
        for (int stage = 0; stage < kPackedStages; ++stage) asc_sync_notify(PIPE_V, PIPE_MTE2, stage);
        for (int stage = 0; stage < kExpandedStages; ++stage) asc_sync_notify(PIPE_MTE3, PIPE_V, stage);
    }
    void end() const {
        for (int stage = 0; stage < kPackedStages; ++stage) asc_sync_wait(PIPE_V, PIPE_MTE2, stage);
        for (int stage = 0; stage < kExpandedStages; ++stage) asc_sync_wait(PIPE_MTE3, PIPE_V, stage);
    }

    // Code 0 is 0, code 1 is 0.5, the others keep exponent and mantissa: every value of e2m1 is one of e4m3.
    static uint8_t e4m3_of(int code) {
        const int size = code & 7;
        return static_cast<uint8_t>((code & 8) << 4 | (size == 0 ? 0 : size == 1 ? 0x30 : 0x30 + (size << 2)));
    }

    void expand(const PackedTile& tile, int l1_stage) {
        if (tile.l1_lines == 0) asc_sync_intra_wait(PIPE_MTE3, l1_stage);
        for (int line = 0; line < tile.l1_lines; line += chunk_lines) {
            const int count = std::min(chunk_lines, tile.l1_lines - line);
            const int live = std::clamp(tile.lines - line, 0, count);
            const int from = packed_step++ % kPackedStages, to = expanded_step++ % kExpandedStages;
            asc_sync_wait(PIPE_V, PIPE_MTE2, from);
            load(tile, line, live, packed(from));
            asc_sync_notify(PIPE_MTE2, PIPE_V, from);

            asc_sync_wait(PIPE_MTE2, PIPE_V, from);
            asc_sync_wait(PIPE_MTE3, PIPE_V, to);
            if (slice == 512)
                look_up<true>(packed(from), expanded(to), live);
            else
                look_up<false>(packed(from), expanded(to), live);
            if (live < count) clear(expanded(to), live, count);
            asc_sync_notify(PIPE_V, PIPE_MTE2, from);
            asc_sync_notify(PIPE_V, PIPE_MTE3, to);

            if (line == 0) asc_sync_intra_wait(PIPE_MTE3, l1_stage);
            asc_sync_wait(PIPE_V, PIPE_MTE3, to);
            auto* l1 = reinterpret_cast<void*>(static_cast<uintptr_t>(tile.l1 + int64_t{line} * 32));
            asc_copy_ub2l1(l1, expanded(to), tile.l1_units, count, pitch - count, tile.l1_pitch - count);
            asc_sync_notify(PIPE_MTE3, PIPE_V, to);
        }
        asc_sync_intra_arrive(PIPE_MTE3, l1_stage);
    }

private:
    // Lines are filled up with zeros to whole 32 bytes, 64 elements: what an MMAD can reach.
    void load(const PackedTile& tile, int first, int count, uint8_t* ub) const {
        const int64_t bytes = tile.elements / 2;
        asc_copy_gm2ub_align(ub, tile.gm + first * tile.line_stride, count, bytes, 0,
                             align_up(bytes, 32) - bytes, true, asc_load_l2_cache_mode{0}, tile.line_stride,
                             slice / 2);
    }

    // A register holds 512 codes: one line, or two lines of 256. Units go to columns `pitch` apart.
    template <bool whole_line>
    void look_up(const uint8_t* from, uint8_t* to, int lines) const {
        ASC_VF;
        const vector_bool all = asc_create_mask_b8(PAT_ALL);
        const auto block_stride = static_cast<uint16_t>(pitch);
        vector_u8 low_table, high_table;
        asc_loadalign(low_table, table(false), 0);
        asc_loadalign(high_table, table(true), 0);
        for (int line = 0; line < lines; line += whole_line ? 1 : 2) {
            vector_u8 codes, even, odd, first, second;
            asc_loadalign(codes, from + int64_t{line} * slice / 2, 0);
            asc_gather(even, low_table, codes);
            asc_gather(odd, high_table, codes);
            asc_intlv(first, second, even, odd);
            uint8_t* row = to + int64_t{line} * 32;
            asc_storealign(row, first, block_stride, uint16_t{0}, all);
            asc_storealign(row + (whole_line ? 8 * pitch : 1) * 32, second, block_stride, uint16_t{0}, all);
        }
    }

    void clear(uint8_t* to, int first, int end) const {
        ASC_VF;
        const vector_bool all = asc_create_mask_b8(PAT_ALL);
        const auto block_stride = static_cast<uint16_t>(pitch);
        vector_u8 zero;
        asc_duplicate_scalar(zero, uint8_t{0}, all);
        for (int line = first; line < end; ++line)
            for (int column = 0; column < slice / 32; column += 8)
                asc_storealign(to + (int64_t{column} * pitch + line) * 32, zero, block_stride, uint16_t{0}, all);
    }
};

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
