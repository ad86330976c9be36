// SPDX-License-Identifier: MIT
// Walks a footprint line by line, or recognises one that was walked a moment ago.
#include "chip/l2.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace ascend {

namespace {

constexpr uint32_t kSectors = 0xf, kDirtyBit = 0x10;
constexpr int kSequenceShift = 5;
constexpr uint32_t kLastSequence = (uint32_t{1} << (32 - kSequenceShift)) - 1;
constexpr uint64_t kRenewFraction = 32;  // touches are renewed after this part of the capacity
constexpr uint8_t kCounts[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};  // of the sectors in a mask

uint32_t count(uint32_t sectors) { return kCounts[sectors & kSectors]; }

uint64_t hash(const GmFootprint& gm, uint32_t outer) {
    uint64_t h = gm.address * 0x9e3779b97f4a7c15u;
    h ^= (uint64_t{gm.rows} << 32 | gm.row_bytes) * 0xc2b2ae3d27d4eb4fu;
    h ^= static_cast<uint64_t>(gm.row_stride) * 0x165667b19e3779f9u + outer;
    return h ^ h >> 29;
}

}  // namespace

L2State::L2State() : memos_(kMemos) {}

L2State::~L2State() {
    for (auto& [number, lines] : regions_) munmap(lines, kRegionLines * sizeof(uint32_t));
}

void L2State::set_capacity(double bytes) {
    const auto lines = static_cast<uint64_t>(bytes / kLineBytes);
    if (lines == capacity_lines_) return;
    if (capacity_lines_) flush();
    capacity_lines_ = lines;
}

uint32_t* L2State::region_of(uint64_t address) {
    const uint64_t number = address >> kRegionBits;
    if (number == last_region_) return last_lines_;
    uint32_t*& lines = regions_[number];
    if (!lines) {
        void* mapping = mmap(nullptr, kRegionLines * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED) throw std::bad_alloc();
        lines = static_cast<uint32_t*>(mapping);
    }
    last_region_ = number;
    last_lines_ = lines;
    return lines;
}

uint32_t L2State::next_sequence() {
    lines_of_.push_back(0);
    return ++sequence_;
}

// Before the numbers of walks run out, after 134 million: everything is forgotten.
void L2State::start_over_if_full() {
    if (sequence_ < kLastSequence - 2) [[likely]] return;
    for (auto& [number, lines] : regions_) madvise(lines, kRegionLines * sizeof(uint32_t), MADV_DONTNEED);
    flush();
    std::fill(memos_.begin(), memos_.end(), Memo{});
    fills_.clear();
    sequence_ = 0;
    valid_from_ = recent_from_ = first_kept_ = 1;
}

// A line that walk `from` touched last now belongs to walk `to`, the newest; `from` = 0: it was not present.
void L2State::move_line(uint32_t from, uint32_t to) {
    if (from == to) return;
    ++lines_of(to);
    if (from)
        --lines_of(from);
    else
        ++present_lines_;
    if (from < recent_from_) ++recent_lines_;
}

void L2State::evict(Access& access) {
    while (present_lines_ > capacity_lines_ && valid_from_ < sequence_) {
        present_lines_ -= lines_of(valid_from_);
        if (valid_from_ >= recent_from_) {
            recent_lines_ -= lines_of(valid_from_);
            recent_from_ = valid_from_ + 1;
        }
        ++valid_from_;
    }
    while (recent_lines_ > capacity_lines_ / kRenewFraction && recent_from_ <= sequence_)
        recent_lines_ -= lines_of(recent_from_++);
    while (dirty_head_ < dirty_.size() && dirty_[dirty_head_].sequence < valid_from_)
        access.writeback += dirty_[dirty_head_++].sectors;
    if (dirty_head_ > 1024 && dirty_head_ * 2 > dirty_.size()) {
        dirty_.erase(dirty_.begin(), dirty_.begin() + static_cast<ptrdiff_t>(dirty_head_));
        dirty_head_ = 0;
    }
    if (valid_from_ - first_kept_ > 65536) {
        lines_of_.erase(lines_of_.begin(), lines_of_.begin() + (valid_from_ - first_kept_));
        first_kept_ = valid_from_;
    }
}

bool L2State::is_pending(uint32_t fill) const { return std::binary_search(fills_.begin(), fills_.end(), fill); }

void L2State::note_pending(uint32_t fill, Access& access) const {
    for (int i = 0; i < access.pendings; ++i)
        if (access.pending[i] == fill) return;
    if (!is_pending(fill)) return;
    // More than kMaxFills: the youngest end last, so the oldest is dropped.
    if (access.pendings == kMaxFills) {
        std::copy(access.pending + 1, access.pending + kMaxFills, access.pending);
        --access.pendings;
    }
    access.pending[access.pendings++] = fill;
}

bool L2State::same(const GmFootprint& a, const GmFootprint& b) {
    return a.address == b.address && a.row_stride == b.row_stride && a.outer_stride == b.outer_stride &&
           a.row_bytes == b.row_bytes && a.rows == b.rows;
}

L2State::Access L2State::access(const GmFootprint& gm, uint32_t outer, bool is_write, uint8_t l2_hint) {
    Access access;
    if (gm.row_bytes == 0 || gm.rows == 0 || outer == 0) return access;
    start_over_if_full();
    const bool allocates = is_write ? (l2_hint & 0xc) != 4 : l2_hint < 4 || l2_hint > 6;
    Memo* memo = !is_write && allocates && gm.rows * outer > 1 ? &memos_[hash(gm, outer) % kMemos] : nullptr;
    if (memo && memo->sectors && memo->outer == outer && same(memo->gm, gm) &&
        memo->sequence >= recent_from_) {
        access.sectors = memo->sectors;
        for (uint32_t fill : memo->fills)
            if (fill) note_pending(fill, access);
        return access;
    }

    const uint32_t oldest_fill = fills_.empty() ? ~uint32_t{0} : fills_.front();
    uint32_t own = 0;            // number of this walk, once it writes a line
    uint32_t last_seen = 0;      // the walk looked up last: neighbours usually share it
    uint64_t newly_dirty = 0;    // sectors
    uint32_t* lines = nullptr;
    uint64_t region = ~uint64_t{0};
    for (uint32_t matrix = 0; matrix < outer; ++matrix) {
        uint64_t row = gm.address + static_cast<uint64_t>(gm.outer_stride) * matrix;
        for (uint32_t r = 0; r < gm.rows; ++r, row += static_cast<uint64_t>(gm.row_stride)) {
            const uint64_t first = row / kSectorBytes, last = (row + gm.row_bytes - 1) / kSectorBytes;
            access.sectors += last - first + 1;
            for (uint64_t line = first / 4; line <= last / 4; ++line) {
                const auto low = static_cast<uint32_t>(line == first / 4 ? first % 4 : 0);
                const auto high = static_cast<uint32_t>(line == last / 4 ? last % 4 : 3);
                const uint32_t need = (kSectors >> (3 - high)) & (kSectors << low);
                if ((line * kLineBytes) >> kRegionBits != region) {
                    region = (line * kLineBytes) >> kRegionBits;
                    lines = region_of(line * kLineBytes);
                }
                uint32_t& word = lines[line % kRegionLines];
                const uint32_t sequence = word >> kSequenceShift;
                const bool present = sequence >= valid_from_;
                const uint32_t have = present ? word & need : 0;
                if (sequence >= oldest_fill && sequence != last_seen && sequence != own && have) {
                    last_seen = sequence;
                    note_pending(sequence, access);
                }
                if (have == need && !is_write) {
                    if (sequence >= recent_from_) continue;
                    if (!allocates) continue;
                    if (!own) own = next_sequence();
                    move_line(sequence, own);
                    word = own << kSequenceShift | (word & (kSectors | kDirtyBit));
                    continue;
                }
                if (!allocates) {
                    access.missing += count(is_write ? need : need & ~have);
                    continue;
                }
                if (!own) own = next_sequence();
                move_line(present ? sequence : 0, own);
                const uint32_t old = present ? word & (kSectors | kDirtyBit) : 0;
                if (is_write && l2_hint >= 12) {  // write-through forms
                    access.missing += count(need);
                    word = own << kSequenceShift | old | need;
                } else if (is_write) {
                    newly_dirty += count(old & kDirtyBit ? need & ~have : need);
                    word = own << kSequenceShift | old | need | kDirtyBit;
                } else {
                    access.missing += count(need & ~have);
                    word = own << kSequenceShift | old | need;
                }
            }
        }
    }
    if (newly_dirty) dirty_.push_back({own, newly_dirty});
    if (own) evict(access);
    if (!is_write && own && access.missing) {
        access.fill = own;
        fills_.push_back(own);  // ascending, since numbers are
    }
    if (memo) {
        *memo = {gm, outer, sequence_, access.sectors, {access.fill, 0, 0}};
        if (access.pendings <= 2)
            std::copy(access.pending, access.pending + access.pendings, memo->fills + 1);
        else
            memo->sectors = 0;  // not remembered
    }
    return access;
}

void L2State::end_fill(uint32_t fill) {
    const auto found = std::lower_bound(fills_.begin(), fills_.end(), fill);
    if (found != fills_.end() && *found == fill) fills_.erase(found);
}

void L2State::flush() {
    lines_of_.clear();
    first_kept_ = valid_from_ = recent_from_ = sequence_ + 1;
    present_lines_ = recent_lines_ = 0;
    dirty_.clear();
    dirty_head_ = 0;
}

uint64_t L2State::dirty_bytes() const {
    uint64_t sectors = 0;
    for (size_t i = dirty_head_; i < dirty_.size(); ++i) sectors += dirty_[i].sectors;
    return sectors * kSectorBytes;
}

bool L2State::holds(uint64_t address) const {
    const auto found = regions_.find(address >> kRegionBits);
    if (found == regions_.end()) return false;
    const uint32_t word = found->second[address / kLineBytes % kRegionLines];
    const uint32_t sequence = word >> kSequenceShift;
    return sequence >= valid_from_ && word >> (address / kSectorBytes % 4) & 1;
}

}  // namespace ascend
