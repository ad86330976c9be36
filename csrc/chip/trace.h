// SPDX-License-Identifier: MIT
// What is one instruction, once issued? A 64-byte record: descriptor for the effect, trace entry for the replay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/pipe.h"
#include "formats/element_type.h"

namespace ascend {

// The physical path an instruction occupies on its pipe. The replay derives time from (path, amount, payload) and the
// chip file alone; it never looks at `op`. A new instruction picks one of these.
enum class Path : uint8_t {
    none,         // occupies nothing but issue
    sync,         // SyncPayload: flags, barriers, cross-core flags; the replay interprets `op` of these only
    gm_to_l1,     // amount: bytes landed; GmPayload gives the footprint in global memory
    gm_to_ub,     // as above
    ub_to_gm,     // as above, writing
    ub_to_l1,     // amount: bytes
    l1_to_l0a,    // amount: bytes
    l1_to_l0b,
    l1_to_l0b_transposed,
    l1_to_l0_mx,  // scales
    l1_to_bt,
    l1_to_fb,
    l1_to_ub,
    fill_l1,
    cube,         // MmadPayload; amount: multiply-accumulates padded to whole fractals, in units of 16*16*K0
    l0c_to_ub,    // FixPayload; amount: destination bytes
    l0c_to_ub_dual,
    l0c_to_l1,
    l0c_to_gm,    // FixPayload begins with the same footprint as GmPayload
    vector,       // VfPayload
    scalar_gm,    // scalar access to global memory
    simt,         // SimtPayload
};

// Operations of the sync path: fixed numbers, because the replay and the executor interpret them. Every other operation
// gets its number from register_op (core.h).
enum SyncOp : uint16_t {
    op_set_flag,       // pipe = source; SyncPayload.other = destination
    op_wait_flag,      // pipe = destination; SyncPayload.other = source
    op_lock,           // asc_lock: pipe stalls until all program-order-earlier unlocks of that id are done
    op_unlock,
    op_barrier,        // pipe = the pipe, or all: drains every pipe of the core
    op_cross_set,      // adds 1 to a counter of each target core of the block; SyncPayload.targets
    op_cross_wait,     // consumes 1 of this core's counter `id`
    op_grid_arrive,    // arrival at the launch-wide barrier `id` of this kind of core
    op_grid_wait,
    kFirstInstruction = 16,
};

// Of a pair of pipes, of a core's counters, of its locks.
constexpr int kFlagIds = 8, kCrossIds = 32, kLockIds = 32;

struct SyncPayload {
    Pipe other;
    uint8_t id;
    uint8_t targets;      // op_cross_set: bit 0 AIC, bit 1 AIV0, bit 2 AIV1
    uint8_t target_id[3]; // op_cross_set: the counter on each target
    Spelling spelling;    // op_cross_*, op_grid_*: messages name what was written
    uint8_t mode;         // of the cross-core flags, where the spelling says it
    uint32_t generation;  // op_grid_*: how many times this core has arrived before
};

// `outer` matrices of `rows` rows of `row_bytes` contiguous bytes in global memory.
struct GmFootprint {
    uint64_t address;
    int64_t row_stride;    // bytes
    int64_t outer_stride;  // bytes
    uint32_t row_bytes;
    uint32_t rows;
};

struct GmPayload {
    GmFootprint gm;
    uint32_t local;       // byte offset in L1 or UB
    uint16_t outer;
    uint16_t n_stride;    // 32-byte units, see the instruction
    uint16_t c0_stride;
    uint16_t nz_stride;
    uint8_t l2_hint;      // ascend950.md 6: load 0 normal .. 4 no-allocate; store 4-7 no-allocate
    uint8_t is_write : 1, accumulates : 1, element_bytes : 6;
    bool is_bf16;
};

struct MmadPayload {
    uint32_t l0a, l0b, l0c;  // byte offsets
    uint32_t bias;           // byte offset in BT
    uint16_t m, n, k;
    ElementType b_type;      // a's type is Record::type
    uint8_t unit_flag;       // 0 off, 2 wait but leave, 3 wait then flip
    uint8_t init : 1, has_bias : 1, mx : 1, gemv_off : 1, n_first : 1, hf32_away : 1;
    uint32_t a_scale, b_scale;  // byte offsets in L0A_MX, L0B_MX
};

struct FixPayload {
    GmFootprint gm;        // l0c_to_gm only
    uint32_t local;        // UB or L1 byte offset (l0c_to_ub, l0c_to_l1); the armed store atomic (l0c_to_gm)
    uint32_t l0c : 18;     // byte offset
    uint32_t matrix_rows : 13;  // between matrices in L0C, in rows of 16 elements
    uint32_t c0_strided : 1;    // NZ2DN that skips rows of L0C: a quarter of the rate
    uint16_t m, n;         // of each of Record::matrices matrices
    uint16_t src_stride;   // fractal rows (16 elements) between 16-column blocks of L0C, in rows
    uint8_t relu : 2, nz2nd : 1, nz2dn : 1, sub_block : 1, dual : 2, accumulates : 1;
    uint8_t unit_flag : 2, l2_hint : 4, split : 1, clip : 1;
};

struct RegisterPayload {   // a parameter of FIX on its way there: takes effect between its instructions
    uint64_t value;
    uint8_t index;
};

struct MovePayload {       // on-chip copies: 2-D loads of fractals, UB -> L1, fills
    uint32_t src, dst;     // byte offsets in their memories
    uint16_t outer_steps, inner_steps;
    uint16_t src_stride, dst_stride;
    uint16_t src_outer, src_inner;
    uint32_t word;
    uint8_t unit_bytes_log2, flags;
};

struct Img2ColPayload {    // asc_img2col_config (isa/img2col.h); Record::amount: bytes, more where the way is slower
    uint32_t src, dst, pad_value;
    uint16_t height, width, m_start, m, k_start_units, k_units;
    uint8_t pad_left, pad_right, pad_top, pad_bottom, kernel_height, kernel_width, stride_height, stride_width;
    uint8_t dilation_height, dilation_width, element_bytes;
};

// Cost classes of vector instructions; csrc/isa/vf.h counts them.
constexpr int kVfClasses = 10;
struct VfPayload {
    uint32_t counts[kVfClasses];
    uint32_t calls;        // vector functions merged into this instruction; 0: another phase of the instruction before
};

struct SimtPayload {       // one SIMT function: sums over its threads; exchanges once a warp
    uint64_t operations;   // as far as they were counted, 0: not
    uint64_t gm_bytes;     // moved by its own loads and stores, as far as they were counted
    uint32_t threads;
    uint32_t barriers;     // that all threads passed
    uint32_t exchanges;    // shuffles, votes and reductions of warps
    uint32_t ub_atomics, gm_atomics;
    uint32_t gm_atomics_again;  // of these, at the address of the one before
};

struct Record {
    uint16_t op;
    Pipe pipe;
    Path path;
    ElementType type;
    uint8_t quant;         // FIX: asc_quant_mode (isa/types.h), e.g. 0 none, 1 fp32 -> fp16, 16 fp32 -> bf16
    uint16_t matrices;     // FIX: how many one instruction moves; 0 is 1
    uint32_t amount;
    uint32_t site;         // index into the launch's table of call sites (source lines)
    union {
        SyncPayload sync;
        GmPayload gm;
        MmadPayload mmad;
        FixPayload fix;
        MovePayload move;
        Img2ColPayload img2col;
        VfPayload vf;
        SimtPayload simt;
        RegisterPayload parameter;
    };
};
static_assert(sizeof(Record) == 64);

// The trace of one core in program order: chunks, so that growing never copies.
class CoreTrace {
public:
    static constexpr size_t kChunk = 4096;
    Record& append() {
        if (used_ == kChunk || chunks_.empty()) add_chunk();
        return chunks_.back()[used_++];
    }
    size_t size() const { return chunks_.empty() ? 0 : (chunks_.size() - 1) * kChunk + used_; }
    const Record& operator[](size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
    void clear();  // keeps the memory for the next launch
    CoreTrace() = default;
    CoreTrace(CoreTrace&&) = default;
    CoreTrace& operator=(CoreTrace&&) = default;
    ~CoreTrace();

private:
    void add_chunk();
    std::vector<Record*> chunks_;
    std::vector<Record*> spare_;
    size_t used_ = 0;
};

enum class CoreKind : uint8_t { aic, aiv0, aiv1 };
const char* core_kind_name(CoreKind);

// One AI core's share of a launch: its blocks one after another. A cube-only launch has an empty aiv trace and so on.
struct AiCoreTrace {
    CoreTrace of[3];  // indexed by CoreKind
    std::vector<std::array<uint32_t, 3>> block_starts;  // of the blocks after the first, in each trace
};

struct LaunchTrace {
    std::vector<AiCoreTrace> ai_cores;
    int blocks = 0;       // grid
    bool mixed = false;
    std::vector<uint64_t> sites;  // return addresses
};

}  // namespace ascend
