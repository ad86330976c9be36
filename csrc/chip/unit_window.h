// SPDX-License-Identifier: MIT
// How far do an MMAD and the FIX that drains it overlap? The unit flags of L0C in simulated time: one per 512
// B block.
//
// Blocks are produced and drained in the same order, at an even pace from the beginning to the end of the
// instruction. A drain of d cycles over n blocks of an MMAD that produces them from p to q: begins at p + (q
// - p) / n, ends no earlier than q + d / n. The next MMAD into drained blocks follows in the same way.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "chip/memory.h"
#include "chip/trace.h"

namespace ascend {

// A set of blocks of L0C.
struct UnitBlocks {
    static constexpr uint32_t kWords = kL0cBytes / kFractalBytes / 64;
    uint64_t words[kWords] = {};

    void add(uint32_t begin_byte, uint32_t bytes) {
        if (bytes == 0) return;
        const uint32_t first = begin_byte / kFractalBytes, last = (begin_byte + bytes - 1) / kFractalBytes;
        for (uint32_t word = first / 64; word <= last / 64 && word < kWords; ++word) {
            const uint32_t low = word == first / 64 ? first % 64 : 0, high = word == last / 64 ? last % 64 : 63;
            words[word] |= (~uint64_t{0} << low) & (~uint64_t{0} >> (63 - high));
        }
    }
    bool meets(const UnitBlocks& other) const {
        uint64_t common = 0;
        for (uint32_t i = 0; i < kWords; ++i) common |= words[i] & other.words[i];
        return common != 0;
    }
    void remove(const UnitBlocks& other) {
        for (uint32_t i = 0; i < kWords; ++i) words[i] &= ~other.words[i];
    }
    void keep(const UnitBlocks& other) {
        for (uint32_t i = 0; i < kWords; ++i) words[i] &= other.words[i];
    }
    int count() const {
        int count = 0;
        for (uint64_t word : words) count += std::popcount(word);
        return count;
    }
};

inline UnitBlocks blocks_of(const MmadPayload& p) {
    UnitBlocks blocks;
    const uint32_t column_bytes = (p.m + 15u) / 16 * 1024;  // 16 columns of all row blocks; flagged are those with a live row
    for (uint32_t column = 0; column * 16 < p.n; ++column) blocks.add(p.l0c + column * column_bytes, p.m * 64u);
    return blocks;
}
inline UnitBlocks blocks_of(const FixPayload& p, uint32_t matrices = 1) {
    UnitBlocks blocks;
    for (uint32_t matrix = 0; matrix < std::max(matrices, 1u); ++matrix)
        for (uint32_t column = 0; column * 16 < p.n; ++column)
            blocks.add(p.l0c + (matrix * p.matrix_rows + column * p.src_stride) * 64, p.m * 64u);
    return blocks;
}

class UnitWindow {
public:
    struct Bounds {
        bool known = true;            // false: the instruction it depends on has no times yet
        double start = 0, end = 0;    // no earlier than these
    };

    void clear() { full_.clear(), drained_.clear(); }

    // An MMAD of `cycles` that wants these blocks empty.
    Bounds before_mmad(const UnitBlocks& blocks, double cycles) const {
        Bounds bounds;
        for (const Span& span : full_)
            if (span.blocks.meets(blocks)) return {false, 0, 0};
        for (const Span& span : drained_) {
            if (!span.blocks.meets(blocks)) continue;
            bounds.start = std::max(bounds.start, span.start + (span.end - span.start) / span.count);
            bounds.end = std::max(bounds.end, span.end + cycles / blocks.count());
        }
        return bounds;
    }
    // A FIX of `cycles` that wants all of these blocks full.
    Bounds before_fix(const UnitBlocks& blocks, double cycles) const {
        Bounds bounds;
        UnitBlocks open = blocks;
        for (const Span& span : full_) {
            if (!span.blocks.meets(blocks)) continue;
            open.remove(span.blocks);
            bounds.start = std::max(bounds.start, span.start + (span.end - span.start) / span.count);
            bounds.end = std::max(bounds.end, span.end + cycles / blocks.count());
        }
        bounds.known = open.count() == 0;
        return bounds;
    }
    void filled(const UnitBlocks& blocks, double start, double end) {
        for (Span& span : drained_) span.blocks.remove(blocks);
        drop_empty(drained_);
        full_.push_back({blocks, start, end, blocks.count()});
    }
    void drained(const UnitBlocks& blocks, double start, double end) {
        for (Span& span : full_) span.blocks.remove(blocks);
        drop_empty(full_);
        drained_.push_back({blocks, start, end, blocks.count()});
    }
    bool has_drains() const { return !drained_.empty(); }
    // Drains that ended before `now` bind nobody any more.
    void forget_until(double now) {
        std::erase_if(drained_, [&](const Span& span) { return span.end <= now; });
    }

private:
    struct Span {
        UnitBlocks blocks;
        double start, end;
        int count;                    // of blocks, when it was made
    };
    static void drop_empty(std::vector<Span>& spans) {
        std::erase_if(spans, [](const Span& span) { return span.blocks.count() == 0; });
    }
    std::vector<Span> full_, drained_;
};

}  // namespace ascend
