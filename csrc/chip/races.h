// SPDX-License-Identifier: MIT
// ASCEND_SIM_CHECK=races: is every access to an on-chip memory ordered behind those that it must not meet?
//
// Note "Order". Effects are performed in one legal order, so values do not show that the chip may choose another. Here each pipe
// of the three cores has a vector clock; what the kernel orders, flags, locks, barriers, cross-core flags, hands clocks on. Every 32
// bytes of a memory remember who wrote and read which of them last; an access that is not ordered behind another pipe's, one of the two
// a write, is an error that names both. What is taken to be in order without a flag:
// * instructions of one pipe;
// * an instruction behind everything that S had waited for when it issued it, but not behind what S itself has loaded and stored;
// * M and FIX where both use the unit flags of L0C, which hold them apart block by block; what is behind such a FIX is behind the M;
// * blocks that follow each other on a core.
// Global memory is not looked at. A grid-wide barrier orders the cores of one AI core; the others share no on-chip memory with it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "chip/core.h"

namespace ascend {

// `rows` pieces of `bytes` bytes, `stride` bytes apart.
struct Piece {
    uint32_t begin, bytes, rows = 1, stride = 0;
};

class RaceCheck {
public:
    static void switch_on(bool);
    static bool is_on();

    explicit RaceCheck(const AiCore& ai);
    void new_block();

    // By the executor: an instruction is queued for its pipe; it is performed now, its waits are behind it. Of the instructions
    // that order: those that release are announced before they are performed, those that wait when they have been.
    void issued(const Core& core, const Record& record);
    void performs(const Core& core, const Record& record);
    void all_pipes_drained(const Core& core);
    void code_ended(const Core& core);   // the kernel's, of this block
    static bool releases(const Record& record);

    // By effects of instructions, before they do it. Ends the launch if it races.
    void access(const Core& core, const Record& record, const Memory& memory, const Piece& piece, bool is_write);
    struct Race {
        std::string what;          // empty: none
        Pipe pipe = Pipe::S;
        bool is_write = false;
        const void* pc = nullptr;
    };
    // By code, which is no instruction: of S, or of a vector function.
    Race access(const Core& core, Pipe pipe, const void* pc, const Memory& memory, const Piece& piece, bool is_write);
    // The same of a plain load. A compiler announces no store behind a load of the same place: whether there was one is seen
    // later, so the race may be one of an earlier load's place.
    Race plain_load(const Core& core, Pipe pipe, const void* pc, const Memory& memory, const Piece& piece);

private:
    static constexpr int kComponents = 3 * kPipes;
    using Clock = std::array<uint32_t, kComponents>;
    struct Last {                  // access of one component, or of one among several that seldom meet
        uint32_t clock = 0;        // 0: none
        uint32_t bytes = 0;        // of the 32: a bit each
        uint64_t origin = 0;       // who, see races.cpp
        uint32_t number = 0;       // in program order of its core: see Issued
    };
    struct Granule {
        Last writes[4], reads[3];
    };
    struct Free {
        void operator()(Granule* granules) const { std::free(granules); }
    };
    struct Shadow {
        const Memory* memory;
        std::unique_ptr<Granule[], Free> granules;   // zero pages until they are touched
    };
    struct Loaded {                // by a plain load, of up to 16 bytes
        const void* pc;
        const Memory* memory;
        uint32_t begin, bytes = 0;
        uint8_t value[16];
    };
    struct Loads {                 // of a core and its pipe S or V, the latest
        Pipe pipe = Pipe::S;
        std::array<Loaded, 16> latest;
        size_t count = 0;
    };
    using Waited = std::shared_ptr<const Clock>;
    struct Issued {
        uint32_t number;           // in program order: even ones; those of code are odd, between its neighbours'
        Waited waited;             // what S had waited for
    };
    struct Queued {                // of a pipe
        std::deque<Issued> instructions;
        uint32_t performing = 0;   // number of the latest one
        Waited joined;             // by its clock
    };
    struct Set {                   // of a flag, not consumed; or several, the latest of very many
        Clock clock;
        uint32_t times = 1;
    };
    // Of a lock or a grid-wide barrier, by their places in program order: what waits there waits for those before. The oldest ones
    // become one, at the place of the first.
    struct Release {
        uint32_t place;
        Clock clock;
    };
    using Releases = std::deque<Release>;

    static int component(CoreKind kind, Pipe pipe) { return static_cast<int>(kind) * kPipes + static_cast<int>(pipe); }
    Clock& clock_of(int component) { return clocks_[static_cast<size_t>(component)]; }
    static void join(Clock& clock, const Clock& other);
    void acquire(CoreKind kind, Pipe pipe, const Clock& clock);
    Clock release(int component);
    static void add(Releases& releases, uint32_t place, const Clock& clock);
    void acquire_up_to(CoreKind kind, Pipe pipe, const Releases& releases, uint32_t place);
    uint32_t place_now(const Core& core, Pipe pipe) const;
    uint32_t code_number(const Core& core) const { return issued_[static_cast<int>(core.kind)] + 1; }
    void follow_s(CoreKind kind, Pipe pipe, const Waited& waited);
    Race settle(const Core& core, Pipe pipe, Loaded& loaded);
    Race settle_all(const Core& core);
    void settle_before_instruction(const Core& core);
    Granule* granules_of(const Memory& memory);
    struct Access {
        int component;
        uint32_t number;
        uint64_t origin;
        bool is_write;
    };
    std::string note(const AiCore& ai, const Access& access, const Memory& memory, const Piece& piece);
    std::string describe(const AiCore& ai, const Last& other, bool wrote, const Access& access, const Memory& memory, uint32_t address) const;

    std::array<Clock, kComponents> clocks_{};
    Waited waited_[3];                                   // S of each core: its clock after the latest of its waits
    std::array<Queued, kComponents> queued_;
    uint32_t issued_[3] = {};                            // the latest number, of each core
    Loads loads_[3];
    std::unordered_map<uint32_t, std::deque<Set>> flags_;    // sets that have not been consumed, oldest first
    std::unordered_map<uint32_t, Releases> others_;          // locks and grid-wide barriers
    Shadow shadows_[10];
};

// What effects call: nothing unless races are looked for.
inline void reads(const Core& core, const Record& record, const Memory& memory, const Piece& piece) {
    if (core.ai.races) [[unlikely]] core.ai.races->access(core, record, memory, piece, false);
}
inline void writes(const Core& core, const Record& record, const Memory& memory, const Piece& piece) {
    if (core.ai.races) [[unlikely]] core.ai.races->access(core, record, memory, piece, true);
}

}  // namespace ascend
