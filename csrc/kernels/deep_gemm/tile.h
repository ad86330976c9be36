// SPDX-License-Identifier: MIT
// How is D cut into blocks, and what fits where? The cost model of deep_gemm.md 22.2 and 22.3 over all legal blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "chip/fault.h"
#include "chip/memory.h"
#include "chip/spec.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

inline int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
inline int64_t align_up(int64_t x, int64_t y) { return ceil_div(x, y) * y; }

struct Problem {
    int64_t m, n, k;
    int bits;                // of an element of A, and of B as the cube multiplies it: 16 bf16, 8 fp8, 4 fp4
    int b_bits;              // of an element of B in global memory: `bits`, or 4 if vector core 0 expands it
    bool scaled;             // MX: int16 pairs of block scales
    bool a_mn_major, b_mn_major;
    bool d_fp32, accumulate, has_alpha;
    bool d_aligned;          // base and row stride of D are multiples of 32 bytes
    int cores;

    bool expands_b() const { return b_bits != bits; }
    int64_t k_bytes(int64_t elements) const { return elements * bits / 8; }
    int mn_unit() const { return std::max(16, 256 / bits); }  // rows of an MN-major operand that come together
};

// Blocks and stages of one launch. Extents in elements, sizes in bytes.
struct Tile {
    int block_m, block_n, block_k;
    int splits_m, splits_n;      // the block is 1x1, 1x2 or 2x1 MADs, so that L0C holds two accumulators
    int l1_stages;
    int scale_blocks;            // k blocks covered by one stage of scales
    int mad_k;                   // k of one L0 stage
    bool direct_store;           // FIX writes global memory; otherwise L0C -> UB -> vector core 1 -> global memory
    int64_t m_blocks, n_blocks;
    double cost_cycles;
    int64_t loaded_bits;         // per k, of A and B by all blocks: what passes L2

    int mad_m() const { return block_m / splits_m; }
    int mad_n() const { return block_n / splits_n; }
};

constexpr int kL0Stages = 2;
constexpr int kScaleStages = 2;
constexpr int kMaxStagesScaled = 4, kMaxStages = 8;
constexpr int kMaxBlock = 512, kMaxBlockFp4 = 256;  // the latter also where B is expanded
constexpr int kMaxExpandedK = 512;
constexpr int64_t kMadBytes = kL0cBytes / 2;

// Inputs of the heuristics as published (22.1): they choose tiles; the chip file times them.
struct Heuristics {
    static constexpr double gm_bytes_per_s = 3500e9, l2_bytes_per_s = 4500e9;
    static constexpr double gm_to_l1_bytes_per_cycle = 256, l1_to_l0_bytes_per_cycle = 256, fix_bytes_per_cycle = 128;
    static constexpr double expand_bytes_per_cycle = 64;  // FP4 to E4M3 on one vector core
    static constexpr double mad_issue_cycles(int bits) { return bits == 16 ? 64 : bits == 8 ? 116 : 40; }
};

// Fills in what follows from the block: k extents, stages. False if the block does not fit.
inline bool complete(const Problem& p, Tile& t) {
    const int64_t rows = t.block_m + t.block_n;
    const int k_unit = 2048 / p.bits;  // 256 bytes of a row
    const auto scale_bytes = [&](int block_k) {
        return p.scaled ? int64_t{kScaleStages} * rows * 2 * (block_k / 64) * t.scale_blocks : 0;
    };
    const auto stages = [&](int block_k) {
        const int64_t free = kL1Bytes - scale_bytes(block_k);
        return std::min<int64_t>(p.scaled ? kMaxStagesScaled : kMaxStages, free / (rows * p.k_bytes(block_k)));
    };
    t.scale_blocks = 8;
    t.block_k = k_unit;
    const auto k_fits = [&](int block_k) { return !p.expands_b() || block_k <= kMaxExpandedK; };
    while (p.k % (2 * t.block_k) == 0 && k_fits(2 * t.block_k) && stages(2 * t.block_k) >= 3 && t.scale_blocks > 1) {
        t.block_k *= 2;
        t.scale_blocks /= 2;  // the same stretch of k
    }
    t.l1_stages = static_cast<int>(stages(t.block_k));
    if (t.l1_stages < 2) return false;
    // L0A and L0B hold two stages of the whole block.
    const int64_t row_bytes = std::min(kL0aBytes, kL0bBytes) / kL0Stages / std::max(t.block_m, t.block_n);
    t.mad_k = k_unit;
    while (p.k_bytes(t.mad_k) > 64 && p.k_bytes(t.mad_k) > row_bytes) t.mad_k /= 2;
    return p.k_bytes(t.mad_k) <= row_bytes;
}

inline bool stores_directly(const Problem& p, const Tile& t) {
    return !p.has_alpha && p.d_aligned && (p.d_fp32 || !p.accumulate) &&
           (t.m_blocks * t.n_blocks <= p.cores || (t.m_blocks == 1 && t.mad_n() * (p.d_fp32 ? 4 : 2) % 128 == 0));
}

// 22.3, in cycles.
inline double cost(const Problem& p, const Tile& t, const ChipSpec& chip) {
    const auto k = static_cast<double>(p.k), a_bytes = p.bits / 8.0, b_bytes = p.b_bits / 8.0;
    const ElementType type = p.bits == 16 ? ElementType::bf16 : p.bits == 8 ? ElementType::e4m3 : ElementType::e2m1;
    const double macs = chip.cube_macs_per_cycle[static_cast<int>(type)];
    const double cycles_per_s = chip.clock_hz;
    const auto blocks = static_cast<double>(t.m_blocks * t.n_blocks);
    const double waves = std::ceil(blocks / p.cores);
    // A block that is alone along an axis is only as long as the problem.
    const double live_m = t.m_blocks == 1 ? static_cast<double>(align_up(p.m, 16)) : t.block_m;
    const double live_n = t.n_blocks == 1 ? static_cast<double>(align_up(p.n, 16)) : t.block_n;
    const double mads = static_cast<double>(t.splits_m * t.splits_n) * std::ceil(k / t.mad_k);
    const double compute = waves * std::max(live_m * live_n * k / macs, mads * Heuristics::mad_issue_cycles(p.bits));
    const double l0_load = waves * (live_m + live_n) * k * a_bytes / Heuristics::l1_to_l0_bytes_per_cycle;
    // Lines along n are expanded at full length, see dequant.h.
    const double expanded_n = p.b_mn_major ? kMaxBlockFp4 : live_n;
    const double expand_rate = Heuristics::expand_bytes_per_cycle * (stores_directly(p, t) ? 2 : 1);
    const double expand = p.expands_b() ? waves * expanded_n * k / expand_rate : 0;
    const double first_load = (live_m * a_bytes + live_n * b_bytes) * t.block_k / Heuristics::gm_to_l1_bytes_per_cycle;
    const double a_size = static_cast<double>(p.m) * k * a_bytes, b_size = static_cast<double>(p.n) * k * b_bytes;
    const double touched = a_size + b_size;
    const double loaded = a_size * static_cast<double>(t.n_blocks) + b_size * static_cast<double>(t.m_blocks);
    const bool b_stays = 4.0 * t.block_m * k * a_bytes + b_size <= chip.l2_capacity_bytes;
    const double reread_rate = b_stays ? Heuristics::l2_bytes_per_s : Heuristics::gm_bytes_per_s;
    const double fullness = blocks / (waves * p.cores);
    const double memory = (touched / Heuristics::gm_bytes_per_s + (loaded - touched) / reread_rate) * cycles_per_s /
                          std::max(fullness, 0.5);
    const double last_k = live_m * live_n * t.block_k / macs;
    const double out_bytes = live_m * live_n * (p.d_fp32 ? 4 : 2);
    const double output = out_bytes / Heuristics::fix_bytes_per_cycle +
                          out_bytes * (1 + p.accumulate) * p.cores / Heuristics::gm_bytes_per_s * cycles_per_s;
    return std::max(first_load + std::max({l0_load, compute, expand}), memory + last_k) + output;
}

// The cheapest block; of those within 1 %, which the model cannot tell apart, the one that loads least.
inline Tile select_tile(const Problem& p, const ChipSpec& chip) {
    constexpr double kTie = 1.01;
    std::vector<Tile> candidates;
    double least = 1e300;
    const auto step = [&](bool mn_major) { return mn_major ? p.mn_unit() : 16; };
    const int step_m = step(p.a_mn_major), step_n = step(p.b_mn_major);
    const int largest = p.bits == 4 || p.expands_b() ? kMaxBlockFp4 : kMaxBlock;
    const auto limit = [&](int64_t extent, int s) { return static_cast<int>(std::min<int64_t>(align_up(extent, s), largest)); };
    for (int block_m = step_m; block_m <= limit(p.m, step_m); block_m += step_m)
        for (int block_n = step_n; block_n <= limit(p.n, step_n); block_n += step_n) {
            if (int64_t{block_m} * block_n * 4 > kL0cBytes) break;
            Tile t{};
            t.block_m = block_m;
            t.block_n = block_n;
            t.splits_m = t.splits_n = 1;
            if (int64_t{block_m} * block_n * 4 > kMadBytes) {
                if (block_n % (2 * step_n) == 0)
                    t.splits_n = 2;
                else if (block_m % (2 * step_m) == 0)
                    t.splits_m = 2;
                else
                    continue;
            }
            t.m_blocks = ceil_div(p.m, block_m);
            t.n_blocks = ceil_div(p.n, block_n);
            if (!complete(p, t)) continue;
            t.cost_cycles = cost(p, t, chip);
            t.loaded_bits = p.m * t.n_blocks * p.bits + p.n * t.m_blocks * p.b_bits;
            least = std::min(least, t.cost_cycles);
            candidates.push_back(t);
        }
    Tile best{};
    best.loaded_bits = INT64_MAX;
    for (const Tile& t : candidates)
        if (t.cost_cycles <= least * kTie &&
            (t.loaded_bits < best.loaded_bits || (t.loaded_bits == best.loaded_bits && t.cost_cycles < best.cost_cycles)))
            best = t;
    best.direct_store = stores_directly(p, best);
    return best;
}

inline std::string describe(const Tile& t) {
    return format("block %dx%dx%d mad %dx%dx%d stages %d%s", t.block_m, t.block_n, t.block_k, t.mad_m(), t.mad_n(),
                  t.mad_k, t.l1_stages, t.direct_store ? " direct" : "");
}

struct BlockAt {
    int64_t m, n;
};

// 22.4: ids walk super-tiles of 4 x 8 blocks, so that one wave of 32 cores shares 4 blocks of A and 8 of B; inside, n is
// XOR-ed with m; odd super-rows run right to left; a remainder of fewer than 4 rows of blocks is row-major.
inline BlockAt block_at(const Tile& t, int64_t id) {
    constexpr int64_t kRows = 4, kColumns = 8;
    const int64_t super_row = id / (kRows * t.n_blocks);
    if ((super_row + 1) * kRows > t.m_blocks) {
        const int64_t rest = id - super_row * kRows * t.n_blocks;
        return {super_row * kRows + rest / t.n_blocks, rest % t.n_blocks};
    }
    const int64_t within = id - super_row * kRows * t.n_blocks;
    const int64_t group = within / (kRows * kColumns), at = within % (kRows * kColumns);
    const int64_t width = std::min(kColumns, t.n_blocks - group * kColumns);
    const int64_t row = at / width;
    int64_t column = at % width;
    if (width == kColumns) column ^= row;
    column += group * kColumns;
    return {super_row * kRows + row, super_row % 2 ? t.n_blocks - 1 - column : column};
}

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
