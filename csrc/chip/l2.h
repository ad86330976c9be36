// SPDX-License-Identifier: MIT
// Which bytes of global memory are in the L2 cache, and which are still on their way? Tags only: values live
// in HBM.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "chip/trace.h"

namespace ascend {

// The L2 of one device; it persists between launches. Lines of 512 B with four sectors of 128 B, fully
// associative, least recently used first (hash and associativity of the chip are unpublished). The order is
// kept by instruction: the lines a transfer touched last leave together. Touches within the last 1/32 of the
// capacity are not renewed, so that repeated loads of a tile cost one lookup.
class L2State {
public:
    static constexpr uint32_t kLineBytes = 512, kSectorBytes = 128;
    static constexpr int kMaxFills = 8;

    struct Access {
        uint64_t sectors = 0;          // 128 B transactions, row by row
        uint64_t missing = 0;          // of them, to be fetched from HBM, or for stores: sent to HBM now
        uint64_t writeback = 0;        // sectors of dirty lines that this access pushed out
        uint32_t fill = 0;             // number of the fill this access begins; 0: it fetches nothing into the cache
        uint32_t pending[kMaxFills];   // fills of other accesses, not yet ended, that this one needs
        int pendings = 0;
    };

    L2State();
    ~L2State();
    L2State(const L2State&) = delete;
    L2State& operator=(const L2State&) = delete;

    void set_capacity(double bytes);
    // `outer` matrices. l2_hint as in ascend950.md 6: loads 4-6 and stores 4-7 do not allocate.
    Access access(const GmFootprint& gm, uint32_t outer, bool is_write, uint8_t l2_hint);
    // The data of a fill has arrived.
    void end_fill(uint32_t fill);
    bool is_pending(uint32_t fill) const;
    // Everything leaves; dirty lines are written back outside simulated time.
    void flush();

    uint64_t dirty_bytes() const;
    bool holds(uint64_t address) const;    // the sector of this byte

private:
    struct Memo {
        GmFootprint gm{};
        uint32_t outer = 0;
        uint32_t sequence = 0;               // of the last walk when it was made
        uint64_t sectors = 0;
        uint32_t fills[3] = {};
    };
    struct Dirty {
        uint32_t sequence;
        uint64_t sectors;
    };
    static constexpr int kRegionBits = 30;
    static constexpr uint64_t kRegionLines = (uint64_t{1} << kRegionBits) / kLineBytes;
    static constexpr uint32_t kMemos = 4096;

    uint32_t* region_of(uint64_t address);
    uint32_t next_sequence();
    void start_over_if_full();
    void move_line(uint32_t from, uint32_t to);
    void evict(Access& access);
    uint32_t& lines_of(uint32_t sequence) { return lines_of_[sequence - first_kept_]; }
    void note_pending(uint32_t sequence, Access& access) const;
    static bool same(const GmFootprint& a, const GmFootprint& b);

    // One word per line: bits 31..5 number of the walk that touched it last, bit 4 dirty, bits 3..0 sectors
    // present. Pages of the mapping that were never touched read as walk 0, which is never valid.
    std::unordered_map<uint64_t, uint32_t*> regions_;
    uint64_t last_region_ = ~uint64_t{0};
    uint32_t* last_lines_ = nullptr;

    uint64_t capacity_lines_ = 0;
    uint32_t sequence_ = 0;                  // of the last walk: an access that writes at least one line's word
    std::vector<uint32_t> lines_of_;         // by walk from first_kept_ on: lines that it touched last
    uint32_t first_kept_ = 1;
    uint32_t valid_from_ = 1;                // walks before this one: their lines have left
    uint64_t present_lines_ = 0;
    uint32_t recent_from_ = 1;               // touches of walks from this one on are not renewed
    uint64_t recent_lines_ = 0;
    std::vector<uint32_t> fills_;            // not yet ended, ascending
    std::vector<Dirty> dirty_;               // from dirty_head_ on
    size_t dirty_head_ = 0;
    std::vector<Memo> memos_;
};

}  // namespace ascend
