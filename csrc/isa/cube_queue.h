// SPDX-License-Identifier: MIT
// What has the cube put off, and what does it keep in the host's form? Values only: rules, validity, flags and the trace
// are eager.
//
// An MMAD of a small k costs the host more in reading and writing C, and in copies of A and B, than in multiplying. Where
// the host has a matrix unit, therefore,
//   an MMAD joins the chain of those before it that add into the same results, and the chains are multiplied before FIX
//   looks at L0C, before an MMAD touches part of their results, and when the room is used up;
//   bf16 is packed for the unit as early as possible: on its way into L1 if a load from there went to L0A or L0B before
//   (a guess that costs time when it is wrong, never values), else on its way into L0;
//   other types stay in L1 until an MMAD packs them from there, unless L1 is written before.
// Who wants fractals after all (another type, another shape, a transposing load, a fill) has them unpacked first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chip/core.h"
#include "host/packed.h"

namespace ascend::isa {

enum Side : uint8_t { side_a, side_b };

// A load of fractals from L1: fractal (r, k) at src + k * src_step + r * 512, to dst + k * dst_step + r * 512.
struct LoadedFractals {
    uint32_t src, src_step, dst, dst_step;  // bytes
    uint32_t row_blocks, k_units;
    bool is_bf16;
};

class CubeQueue final : public PutOff {
public:
    explicit CubeQueue(AiCore& ai);

    // The queue of the core, or null: nothing is put off while every record is observed, or without a matrix unit.
    static CubeQueue* of(AiCore& ai);

    // MTE2: rows to `dst` of L1, as the record says. False: the caller copies.
    bool load_l1(const Record& record, uint32_t dst, const uint8_t* src);
    // MTE1. False: the caller copies.
    bool load_l0(Side side, const LoadedFractals& load);
    // Before something else is written to [begin, end) of L1. `all`: every byte of it is written.
    void before_write_l1(uint32_t begin, uint32_t end, bool all);

    // C (+)= A B^T. args points into L0A, L0B and L0C.
    void multiply(const host::MmadArgs& args);

    void settle(const Record& record) override;
    void forget() override;

private:
    // Strips of tiles that fill up from k = 0 on. Operands that follow each other in k lie side by side in one, so that
    // the unit runs through them as through one.
    struct Panel {
        uint8_t* data;
        int64_t bytes;
        int64_t strip_bytes = 0;
        int64_t used_bytes = 0;  // of each strip
        int users = 0;           // operands kept and products put off
        bool open = false;       // may grow: it is the last of its lane
    };
    // Operands expected to follow each other.
    struct Lane {
        uint64_t key;
        int strips;
        Panel* panel;
    };
    struct Operand {
        Panel* panel = nullptr;  // null: none
        host::PackedOperand packed{};
        int exponent = 0;
    };
    struct Loaded {  // what a stretch of L0 holds: in packed form, or still in L1
        Operand operand;
        uint32_t begin, end;
        int row_blocks, k_units;
        uint32_t l1 = 0, l1_step = 0, l1_end = 0;  // fractal (r, k) at l1 + k * l1_step + r * 512; step 0: packed
    };
    struct Kept {  // what a stretch of L1 holds, in packed form: fractal (r, k) would be at begin + k * step + r * 512
        Operand operand;
        Side side;
        uint32_t begin, end, step;
        int row_blocks, k_units;
    };
    struct Packed {  // fractals of L0, packed for the MMAD before
        Operand operand;
        host::PackArgs args{};
        uint64_t loads = 0;  // AiCore::loads_performed then
    };
    struct Chain {  // results that grow together
        host::PackedMmadArgs args{};
        uint32_t begin = 0, end = 0;  // in L0C
        std::vector<host::PackedProduct> products;
        std::vector<Panel*> users;
        std::vector<float> bias;
    };

    Panel* new_panel(int64_t bytes);
    bool reserve(Operand& operand, uint64_t key, int strips, int tiles);
    void release(Operand& operand);
    void before_write_l0(Side side, uint32_t begin, uint32_t end, bool all);
    void settle_l0(Side side) { before_write_l0(side, 0, ~0u, false); }
    void unpack_l1(uint32_t begin, uint32_t end, bool all);
    void copy(Side side, const Loaded& loaded);
    bool refer(Operand& operand, Side side, const LoadedFractals& load);
    void note_side(Side side, uint32_t l1);
    void complete();
    bool find(Operand& operand, Side side, uint32_t at, int rows, int k, ElementType type);
    void locate(host::PackArgs& args, Side side, uint32_t at);
    bool pack(Operand& operand, Side side, const host::PackArgs& args, uint64_t key);
    bool put_off(const host::MmadArgs& args);
    Chain* chain_for(const host::MmadArgs& args, uint32_t begin, uint32_t end);

    Memory& l0(Side side) { return side == side_b ? ai_.l0b : ai_.l0a; }

    static constexpr int64_t kRoomBytes = 1024 * 1024;
    static constexpr int kPanelTiles = 8;  // k = 256 of bf16
    static constexpr int kMaxUnpacked = 16;
    static constexpr int kLeastFractals = 16;  // less is copied: cheaper than an account of it

    AiCore& ai_;
    uint8_t* const room_;
    int64_t room_used_ = 0;
    std::vector<std::unique_ptr<Panel>> panels_;
    std::vector<Lane> lanes_;
    std::vector<Kept> kept_;        // in L1
    std::vector<Loaded> loaded_[2];  // in L0A, L0B
    Packed packed_[2];
    int unpacked_ = 0;              // packed in vain since the block began
    uint8_t sides_[kL1Bytes / 1024] = {};  // of L1: where loads from there went; bits as 1 << Side
    std::vector<Chain> chains_;
    size_t live_ = 0;  // chains in use
};

}  // namespace ascend::isa
