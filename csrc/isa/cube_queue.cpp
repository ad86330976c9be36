// SPDX-License-Identifier: MIT
// What has the cube put off, and when is it made up for?
#include "isa/cube_queue.h"

#include <algorithm>
#include <cstring>

namespace ascend::isa {

namespace {

bool same(const host::PackArgs& x, const host::PackArgs& y) {
    return x.data == y.data && x.k_stride_bytes == y.k_stride_bytes && x.scale == y.scale && x.type == y.type &&
           x.rows == y.rows && x.k == y.k && x.hf32_rounding == y.hf32_rounding;
}

constexpr uint32_t kEverywhere = ~0u;

int strips_of(int rows) { return (rows + 15) / 16; }

}  // namespace

CubeQueue::CubeQueue(AiCore& ai) : ai_(ai), room_(ai.block.take(kRoomBytes)) {}

CubeQueue* CubeQueue::of(AiCore& ai) {
    if (has_record_observer() || !host::packs(ElementType::bf16, ElementType::bf16)) return nullptr;
    if (!ai.put_off) ai.put_off = std::make_unique<CubeQueue>(ai);
    return static_cast<CubeQueue*>(ai.put_off.get());
}

// ---- room -----------------------------------------------------------------------------------------------------------

CubeQueue::Panel* CubeQueue::new_panel(int64_t bytes) {
    const auto reuse = [&]() -> Panel* {
        for (auto& panel : panels_)
            if (!panel->users && !panel->open && panel->bytes == bytes) return panel.get();
        return nullptr;
    };
    if (Panel* panel = reuse()) return panel;
    if (room_used_ + bytes > kRoomBytes) {
        complete();
        if (Panel* panel = reuse()) return panel;
        // Other sizes than before: begin anew, unless something must stay.
        unpack_l1(0, kEverywhere, false);
        for (Side side : {side_a, side_b}) settle_l0(side);
        for (Packed& packed : packed_) release(packed.operand);
        for (auto& panel : panels_)
            if (panel->users) return nullptr;
        lanes_.clear();
        panels_.clear();
        room_used_ = 0;
        if (bytes > kRoomBytes) return nullptr;
    }
    panels_.push_back(std::make_unique<Panel>(Panel{room_ + room_used_, bytes}));
    room_used_ += bytes;
    return panels_.back().get();
}

// Room for one more operand of a lane; false if there is none.
bool CubeQueue::reserve(Operand& operand, uint64_t key, int strips, int tiles) {
    const int64_t bytes = int64_t{tiles} * host::kPackedTileBytes;
    const auto lane_at = [&] {
        return std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& x) { return x.key == key && x.strips == strips; });
    };
    auto lane = lane_at();
    Panel* panel = lane == lanes_.end() ? nullptr : lane->panel;
    if (panel && !panel->users) panel->used_bytes = 0;
    if (!panel || panel->used_bytes + bytes > panel->strip_bytes) {
        if (panel) panel->open = false;
        if (lane != lanes_.end()) lanes_.erase(lane);
        const int64_t strip_bytes = std::max(bytes, int64_t{kPanelTiles} * host::kPackedTileBytes);
        panel = new_panel(strip_bytes * strips);
        if (!panel) return false;
        panel->strip_bytes = strip_bytes;
        panel->used_bytes = 0;
        panel->open = true;
        lanes_.push_back({key, strips, panel});
    }
    operand.panel = panel;
    operand.packed = {panel->data + panel->used_bytes, panel->strip_bytes};
    panel->used_bytes += bytes;
    ++panel->users;
    return true;
}

void CubeQueue::release(Operand& operand) {
    if (operand.panel) --operand.panel->users;
    operand.panel = nullptr;
}

// ---- MTE2 -----------------------------------------------------------------------------------------------------------

bool CubeQueue::load_l1(const Record& record, uint32_t dst, const uint8_t* src) {
    const GmPayload& p = record.gm;
    const uint32_t rows = p.gm.rows, units = (p.gm.row_bytes + kUnitBytes - 1) / kUnitBytes, step = p.c0_stride * kUnitBytes;
    const uint32_t end = dst + (units - 1) * step + ((rows - 1) * p.n_stride + 1) * kUnitBytes;
    before_write_l1(dst, end, p.n_stride == 1 && (units == 1 || p.c0_stride == rows));
    const int side_bits = sides_[dst / 1024];
    const bool is_packable = p.is_bf16 && p.n_stride == 1 && rows % 16 == 0 && p.c0_stride % 16 == 0 &&
                             p.gm.row_bytes % kUnitBytes == 0 && dst % kFractalBytes == 0;
    if (!is_packable || (side_bits != 1 << side_a && side_bits != 1 << side_b) || unpacked_ >= kMaxUnpacked) return false;
    const Side side = side_bits == 1 << side_b ? side_b : side_a;
    Kept kept{{}, side, dst, end, step, static_cast<int>(rows / 16), static_cast<int>(units)};
    const uint64_t key = (uint64_t{2} + side) << 32;
    if (!reserve(kept.operand, key, kept.row_blocks, (kept.k_units + 1) / 2)) return false;
    auto* out = const_cast<uint8_t*>(kept.operand.packed.data);
    const host::PackRowsArgs args{src, p.gm.row_stride, static_cast<int>(rows), static_cast<int>(p.gm.row_bytes)};
    const auto pack = side == side_b ? host::pack_rows_b : host::pack_rows_a;
    kept.operand.exponent = pack(out, kept.operand.packed.strip_bytes, args);
    kept_.push_back(kept);
    active = true;
    return true;
}

void CubeQueue::before_write_l1(uint32_t begin, uint32_t end, bool all) {
    unpack_l1(begin, end, all);
    for (Side side : {side_a, side_b})
        for (size_t i = 0; i < loaded_[side].size();) {
            Loaded& loaded = loaded_[side][i];
            if (!loaded.l1_step || end <= loaded.l1 || loaded.l1_end <= begin) {
                ++i;
                continue;
            }
            copy(side, loaded);
            loaded = loaded_[side].back();
            loaded_[side].pop_back();
        }
}

// Before something reads from L1, or writes to it what no load into L0 refers to: fractals again.
void CubeQueue::unpack_l1(uint32_t begin, uint32_t end, bool all) {
    for (size_t i = 0; i < kept_.size();) {
        Kept& kept = kept_[i];
        if (end <= kept.begin || kept.end <= begin) {
            ++i;
            continue;
        }
        if (!all || kept.begin < begin || end < kept.end) {
            host::unpack_bf16(ai_.l1.at(kept.begin), kept.step, kept.operand.packed, kept.side == side_b, kept.row_blocks,
                              kept.k_units * 16);
            ++unpacked_;
        }
        release(kept.operand);
        kept = kept_.back();
        kept_.pop_back();
    }
}

void CubeQueue::note_side(Side side, uint32_t l1) { sides_[l1 / 1024] |= static_cast<uint8_t>(1 << side); }

// ---- MTE1 -----------------------------------------------------------------------------------------------------------

// The part of what L1 keeps packed that a load copies.
bool CubeQueue::refer(Operand& operand, Side side, const LoadedFractals& load) {
    for (const Kept& kept : kept_) {
        if (load.src < kept.begin || kept.end <= load.src) continue;
        const uint32_t offset = load.src - kept.begin, row = offset % kept.step / kFractalBytes, k = offset / kept.step;
        const uint32_t k_end = k + load.k_units, k_units = static_cast<uint32_t>(kept.k_units);
        if (kept.side != side || offset % kFractalBytes || (load.src_step != kept.step && load.k_units > 1)) return false;
        if (row + load.row_blocks > static_cast<uint32_t>(kept.row_blocks) || k_end > k_units) return false;
        if (k % 2 || (k_end % 2 && k_end != k_units)) return false;
        operand = kept.operand;
        operand.packed.data += row * kept.operand.packed.strip_bytes + int64_t{k / 2} * host::kPackedTileBytes;
        ++operand.panel->users;
        return true;
    }
    return false;
}

bool CubeQueue::load_l0(Side side, const LoadedFractals& load) {
    const uint32_t column_bytes = load.row_blocks * kFractalBytes, last = load.k_units - 1;
    const uint32_t src_step = last ? load.src_step : column_bytes;
    const uint32_t end = load.dst + last * load.dst_step + column_bytes, l1_end = load.src + last * src_step + column_bytes;
    const bool is_compact = load.dst_step == column_bytes || last == 0;
    before_write_l0(side, load.dst, end, is_compact);
    Loaded loaded{{}, load.dst, end, static_cast<int>(load.row_blocks), static_cast<int>(load.k_units)};
    if (load.is_bf16) note_side(side, load.src);
    if (!is_compact || src_step == 0) {
        unpack_l1(load.src, l1_end, false);
        return false;
    }
    if (!load.is_bf16) {
        unpack_l1(load.src, l1_end, false);
        if (load.row_blocks * load.k_units < kLeastFractals) return false;
        loaded.l1 = load.src;
        loaded.l1_step = src_step;
        loaded.l1_end = l1_end;
    } else if (!refer(loaded.operand, side, load)) {
        unpack_l1(load.src, l1_end, false);
        if (unpacked_ >= kMaxUnpacked) return false;
        const host::PackArgs args{ai_.l1.at(load.src), src_step, nullptr, ElementType::bf16, loaded.row_blocks * 16,
                                  loaded.k_units * 16};
        const uint64_t key = (uint64_t{4} + side) << 32 | load.src % src_step;
        if (!reserve(loaded.operand, key, loaded.row_blocks, host::packed_tiles(args.type, args.k))) return false;
        auto* out = const_cast<uint8_t*>(loaded.operand.packed.data);
        const auto pack = side == side_b ? host::pack_b : host::pack_a;
        loaded.operand.exponent = pack(out, loaded.operand.packed.strip_bytes, args);
    }
    loaded_[side].push_back(loaded);
    active = true;
    return true;
}

void CubeQueue::before_write_l0(Side side, uint32_t begin, uint32_t end, bool all) {
    auto& all_loaded = loaded_[side];
    for (size_t i = 0; i < all_loaded.size();) {
        Loaded& loaded = all_loaded[i];
        if (end <= loaded.begin || loaded.end <= begin) {
            ++i;
            continue;
        }
        if (!all || loaded.begin < begin || end < loaded.end) copy(side, loaded);
        release(loaded.operand);
        loaded = all_loaded.back();
        all_loaded.pop_back();
    }
}

// What L0 should hold, into L0.
void CubeQueue::copy(Side side, const Loaded& loaded) {
    const uint32_t column_bytes = static_cast<uint32_t>(loaded.row_blocks) * kFractalBytes;
    uint8_t* to = l0(side).at(loaded.begin);
    if (loaded.l1_step) {
        for (uint32_t k = 0; k < static_cast<uint32_t>(loaded.k_units); ++k)
            std::memcpy(to + k * column_bytes, ai_.l1.at(loaded.l1 + k * loaded.l1_step), column_bytes);
        return;
    }
    host::unpack_bf16(to, column_bytes, loaded.operand.packed, side == side_b, loaded.row_blocks, loaded.k_units * 16);
    ++unpacked_;
}

// ---- M --------------------------------------------------------------------------------------------------------------

// An operand that is what a load packed, or some of its k.
bool CubeQueue::find(Operand& operand, Side side, uint32_t at, int rows, int k, ElementType type) {
    if (type != ElementType::bf16 || k % 16) return false;
    for (const Loaded& loaded : loaded_[side]) {
        if (loaded.l1_step || at < loaded.begin || loaded.end <= at || loaded.row_blocks != strips_of(rows)) continue;
        const uint32_t step = static_cast<uint32_t>(loaded.row_blocks) * kFractalBytes;
        const int first = static_cast<int>((at - loaded.begin) / step), last = first + k / 16;
        if ((at - loaded.begin) % step || first % 2 || last > loaded.k_units) return false;
        if (last % 2 && last != loaded.k_units) return false;
        operand = loaded.operand;
        operand.packed.data += first / 2 * host::kPackedTileBytes;
        ++operand.panel->users;
        return true;
    }
    return false;
}

// Where the fractals of an operand are: at `at` of L0, put there now if need be, or still in L1.
void CubeQueue::locate(host::PackArgs& args, Side side, uint32_t at) {
    const int per_unit = elements_per_unit(args.type), units = (args.k + per_unit - 1) / per_unit, strips = strips_of(args.rows);
    for (const Loaded& loaded : loaded_[side]) {
        if (!loaded.l1_step || at < loaded.begin || loaded.end <= at || loaded.row_blocks != strips) continue;
        const uint32_t step = static_cast<uint32_t>(strips) * kFractalBytes, first = (at - loaded.begin) / step;
        if ((at - loaded.begin) % step || static_cast<int>(first) + units > loaded.k_units) break;
        args.data = ai_.l1.at(loaded.l1 + first * loaded.l1_step);
        args.k_stride_bytes = loaded.l1_step;
        return;
    }
    args.data = l0(side).at(at);
    args.k_stride_bytes = int64_t{strips} * kFractalBytes;
    before_write_l0(side, at, at + static_cast<uint32_t>(strips * units) * kFractalBytes, false);
}

bool CubeQueue::pack(Operand& operand, Side side, const host::PackArgs& args, uint64_t key) {
    Packed& last = packed_[side];
    if (!last.operand.panel || last.loads != ai_.loads_performed || !same(last.args, args)) {
        release(last.operand);
        if (!reserve(last.operand, key, strips_of(args.rows), host::packed_tiles(args.type, args.k))) return false;
        auto* out = const_cast<uint8_t*>(last.operand.packed.data);
        const auto pack = side == side_b ? host::pack_b : host::pack_a;
        last.operand.exponent = pack(out, last.operand.packed.strip_bytes, args);
        last.args = args;
        last.loads = ai_.loads_performed;
    }
    operand = last.operand;
    ++operand.panel->users;
    return true;
}

// The chain that the product continues or begins; null if what is put off must be done first.
CubeQueue::Chain* CubeQueue::chain_for(const host::MmadArgs& args, uint32_t begin, uint32_t end) {
    for (size_t i = 0; i < live_; ++i) {
        Chain& chain = chains_[i];
        if (end <= chain.begin || chain.end <= begin) continue;
        const bool continues = chain.begin == begin && chain.args.m == args.m && chain.args.n == args.n && !args.init &&
                               chain.args.is_s8 == (args.a_type == ElementType::s8);
        return continues ? &chain : nullptr;
    }
    if (live_ == chains_.size()) chains_.emplace_back();
    return &chains_[live_];
}

bool CubeQueue::put_off(const host::MmadArgs& args) {
    if (!host::packs(args.a_type, args.b_type)) return false;
    const auto at = [](const Memory& memory, const void* p) { return static_cast<uint32_t>(memory.offset_of(p)); };
    const uint32_t l0c = at(ai_.l0c, args.c);
    const uint32_t end = l0c + static_cast<uint32_t>(strips_of(args.m) * strips_of(args.n)) * 1024;
    if (!chain_for(args, l0c, end)) complete();
    const uint64_t key = l0c;
    const auto operand = [&](Side side, const uint8_t* data, const uint8_t* scale, ElementType type, int rows) {
        Operand found;
        const uint32_t begin = at(l0(side), data);
        if (find(found, side, begin, rows, args.k, type)) return found;
        host::PackArgs pack_args{nullptr, 0, scale, type, rows, args.k, args.hf32_rounding};
        locate(pack_args, side, begin);
        pack(found, side, pack_args, key | uint64_t{side} << 33);
        return found;
    };
    Operand a = operand(side_a, args.a, args.a_scale, args.a_type, args.m);
    Operand b = operand(side_b, args.b, args.b_scale, args.b_type, args.n);
    if (!a.panel || !b.panel || !host::exact_together(a.exponent, b.exponent)) {
        release(a);
        release(b);
        return false;
    }
    Chain& chain = *chain_for(args, l0c, end);
    if (&chain == chains_.data() + live_) {
        ++live_;
        chain.begin = l0c;
        chain.end = end;
        chain.args = {nullptr, 0, args.c, args.m, args.n, args.a_type == ElementType::s8, args.init, nullptr};
        if (args.bias) {
            chain.bias.assign(args.bias, args.bias + args.n);
            chain.args.bias = chain.bias.data();
        }
    }
    const int tiles = host::packed_tiles(args.a_type, args.k);
    const auto follows = [](const host::PackedOperand& next, const host::PackedOperand& last, int last_tiles) {
        return next.strip_bytes == last.strip_bytes && next.data == last.data + int64_t{last_tiles} * host::kPackedTileBytes;
    };
    chain.users.insert(chain.users.end(), {a.panel, b.panel});
    if (!chain.products.empty()) {
        host::PackedProduct& last = chain.products.back();
        if (follows(a.packed, last.a, last.tiles) && follows(b.packed, last.b, last.tiles)) {
            last.tiles += tiles;
            return true;
        }
    }
    chain.products.push_back({a.packed, b.packed, tiles});
    active = true;
    return true;
}

void CubeQueue::multiply(const host::MmadArgs& args) {
    if (put_off(args)) return;
    complete();
    for (Side side : {side_a, side_b}) settle_l0(side);
    host::mmad(args);
}

void CubeQueue::complete() {
    for (size_t i = 0; i < live_; ++i) {
        Chain& chain = chains_[i];
        chain.args.products = chain.products.data();
        chain.args.count = static_cast<int>(chain.products.size());
        host::mmad_packed(chain.args);
        for (Panel* panel : chain.users) --panel->users;
        chain.products.clear();
        chain.users.clear();
    }
    live_ = 0;
}

void CubeQueue::settle(const Record& record) {
    switch (record.path) {
        case Path::l1_to_l0a:
        case Path::l1_to_l0b:
        case Path::l1_to_l0b_transposed: settle_l0(record.path == Path::l1_to_l0a ? side_a : side_b); [[fallthrough]];
        case Path::l1_to_l0_mx:
        case Path::l1_to_bt:
        case Path::l1_to_fb:
        case Path::l1_to_ub: return unpack_l1(0, kEverywhere, false);
        case Path::l0c_to_ub:
        case Path::l0c_to_ub_dual:
        case Path::l0c_to_gm: return complete();
        case Path::l0c_to_l1: complete(); [[fallthrough]];
        case Path::gm_to_l1:
        case Path::ub_to_l1:
        case Path::fill_l1: return before_write_l1(0, kEverywhere, false);
        default: return;
    }
}

void CubeQueue::forget() {
    for (size_t i = 0; i < live_; ++i) {
        chains_[i].products.clear();
        chains_[i].users.clear();
    }
    live_ = 0;
    active = false;
    unpacked_ = 0;
    kept_.clear();
    for (Side side : {side_a, side_b}) {
        loaded_[side].clear();
        packed_[side] = Packed{};
    }
    lanes_.clear();
    panels_.clear();
    room_used_ = 0;
}

}  // namespace ascend::isa
