// SPDX-License-Identifier: MIT
// expand_fp4: lines of packed e2m1 into lines of e4m3 in global memory, which is exact: how FP4 x FP8 reaches an MMAD
// that has no such pair. A line is contiguous, the k of a row or the rows of a k; the packed axis stays the same.
// Path: GM -MTE2-> UB -V-> UB -MTE3-> GM, all vector cores, tiles of 16 lines x 1024 bytes of codes.
// Limit: V looks up 64 codes a cycle and core; MTE3 writes a byte a code: V.
//
// Fields: src, dst; lines; bytes of codes a line; src_stride, dst_stride in bytes between lines.
#include "kernels/deep_gemm/vector_stream.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

namespace {

constexpr int kLines = 16, kBytes = 1024;      // of a tile, in the input
constexpr int kVector = 256;                   // bytes of a register

struct ExpandFp4 {
    const uint8_t* src;
    uint8_t* dst;
    int64_t lines, bytes, src_stride, dst_stride;
    int cores;

    int64_t column_tiles() const { return ceil_div(bytes, kBytes); }
    int64_t tiles() const { return ceil_div(lines, kLines) * column_tiles(); }
    int64_t line(int64_t tile) const { return tile / column_tiles() * kLines; }
    int64_t column(int64_t tile) const { return tile % column_tiles() * kBytes; }
    int live_lines(int64_t tile) const { return static_cast<int>(std::min<int64_t>(kLines, lines - line(tile))); }
    int live_bytes(int64_t tile) const { return static_cast<int>(std::min<int64_t>(kBytes, bytes - column(tile))); }

    // UB: codes and values of two tiles, then what each byte of codes stands for, low and high nibble.
    static uint8_t* codes(int stage) { return isa::ub_base() + stage * kLines * kBytes; }
    static uint8_t* values(int stage) { return codes(kStreamStages) + stage * kLines * kBytes * 2; }
    static uint8_t* table(bool high_nibble) { return values(kStreamStages) + high_nibble * 256; }

    // Code 0 is 0, code 1 is 0.5; the others keep exponent and mantissa.
    static uint8_t e4m3_of(int code) {
        const int size = code & 7;
        return static_cast<uint8_t>((code & 8) << 4 | (size == 0 ? 0 : size == 1 ? 0x30 : 0x30 + (size << 2)));
    }

    void load(int64_t tile, int stage) const {
        asc_copy_gm2ub_align(codes(stage), src + line(tile) * src_stride + column(tile), live_lines(tile), live_bytes(tile), 0, 0,
                             false, asc_load_l2_cache_mode{0}, src_stride, kBytes);
    }

    void look_up(int64_t tile, int stage) const {
        ASC_VF;
        const vector_bool all = asc_create_mask_b8(PAT_ALL);
        vector_u8 low_table, high_table;
        asc_loadalign(low_table, table(false), 0);
        asc_loadalign(high_table, table(true), 0);
        for (int i = 0; i < live_lines(tile); ++i) {
            for (int at = 0; at < live_bytes(tile); at += kVector) {
                vector_u8 pairs, even, odd, first, second;
                asc_loadalign(pairs, codes(stage) + i * kBytes + at, 0);
                asc_gather(even, low_table, pairs);
                asc_gather(odd, high_table, pairs);
                asc_intlv(first, second, even, odd);
                uint8_t* to = values(stage) + (i * kBytes + at) * 2;
                asc_storealign(to, first, 0, all);
                asc_storealign(to + kVector, second, 0, all);
            }
        }
    }

    void store(int64_t tile, int stage) const {
        asc_copy_ub2gm_align(dst + line(tile) * dst_stride + column(tile) * 2, values(stage), live_lines(tile),
                             int64_t{live_bytes(tile)} * 2, asc_store_l2_cache_mode{0}, dst_stride, kBytes * 2);
    }

    void run() const {
        for (int byte = 0; byte < 256; ++byte) {
            table(false)[byte] = e4m3_of(byte & 0xf);
            table(true)[byte] = e4m3_of(byte >> 4);
        }
        asc_sync_notify(PIPE_S, PIPE_V, 0);
        asc_sync_wait(PIPE_S, PIPE_V, 0);
        stream_tiles(tiles(), cores, [&](int64_t tile, int stage) { load(tile, stage); },
                     [&](int64_t tile, int stage) { look_up(tile, stage); }, [&](int64_t tile, int stage) { store(tile, stage); });
    }
};

void expand_fp4_entry(const uint8_t* args) { reinterpret_cast<const ExpandFp4*>(args)->run(); }

void run_expand_fp4(Device& device, int stream, const Fields& fields) {
    FieldReader f("expand_fp4", fields);
    ExpandFp4 a{};
    a.src = reinterpret_cast<const uint8_t*>(f.address("src"));
    a.dst = reinterpret_cast<uint8_t*>(f.address("dst"));
    a.lines = f.integer("lines");
    a.bytes = f.integer("bytes");
    a.src_stride = f.integer("src_stride");
    a.dst_stride = f.integer("dst_stride");
    f.finish();
    if (a.lines <= 0 || a.bytes <= 0) return;
    a.cores = vector_cores_for(a.tiles());
    static const Kernel kernel{"expand_fp4", CoreType::vector, expand_fp4_entry, true, true};
    launch(kernel, device, {a.cores, stream, {}}, &a);
}

const KernelRegistration expand_fp4("expand_fp4", ASCEND_SIM_LEVEL_NAME, run_expand_fp4);

}  // namespace

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
