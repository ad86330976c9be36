// SPDX-License-Identifier: MIT
// The slow way of the memory check, and what it says. Note "Memory check": memory_check.h.
#define ASCEND_SIM_MEMORY_CHECK_ITSELF
#include "isa/memory_check.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "chip/address.h"
#include "chip/device.h"
#include "chip/launch.h"
#include "chip/races.h"
#include "chip/source_line.h"
#include "chip/trap.h"
#include "isa/instruction.h"
#include "isa/simt_launch.h"
#include "isa/vf.h"

namespace ascend::isa {

__thread MemoryCheck memory_check __attribute__((tls_model("initial-exec"), visibility("default")));

namespace {

bool is_undefined_nan(const uint8_t* at, int element_bytes, bool is_float) {
    if (element_bytes == 2) {
        uint16_t bits;
        std::memcpy(&bits, at, 2);
        // bf16 and f16 make 0x7fc0 and 0x7e00 of a NaN. Not their negatives: -27, -64 and -512 are common as integers.
        return bits == kUndefined || bits == 0x7fc0 || bits == 0x7e00 || (is_float && (bits & 0x7fff) > 0x7f80);
    }
    if (element_bytes == 4) {
        uint32_t bits;
        std::memcpy(&bits, at, 4);
        const uint32_t magnitude = bits & 0x7fffffff;
        return bits >> 16 == kUndefined || magnitude == kUndefined * 0x10001u || (is_float && magnitude > 0x7f800000);
    }
    if (element_bytes == 8) return is_undefined_nan(at, 4, is_float) && is_undefined_nan(at + 4, 4, is_float);
    return false;
}

// Says what is wrong. Plain accesses are in code that the compiler believes cannot throw.
[[noreturn]] void fault(Core& core, const char* name, Access access, const void* pc, const std::string& what) {
    const std::string thread = simt_thread_name();
    const std::string text = thread.empty() ? what : thread + ": " + what;
    if (access != Access::plain_load && access != Access::plain_store) core.fail(name, Pipe::V, pc, text);
    memory_check.pending_bytes = 0;
    if (memory_check.tags) memory_check.tags->raced.bytes = 0;
    std::string instruction = instruction_at(reinterpret_cast<uint64_t>(pc));
    if (instruction.empty()) instruction = std::string(thread.empty() ? "scalar " : "SIMT ") + (access == Access::plain_load ? "load" : "store");
    give_up(core, instruction.c_str(), thread.empty() && !in_vector_function ? Pipe::S : Pipe::V, pc, text);
}

std::string last_read() {
    const void* at = memory_check.undefined_read_at;
    return at ? "; undefined data was read last in " + source_line(reinterpret_cast<uint64_t>(at)) : "";
}

unsigned long long hex(uint64_t value) { return value; }

// Constants and variables, thread-local ones too, of the kernel's object and of this library. The loader is asked once a block and
// object.
struct Images {
    MemoryCheck::Range code{};              // of the kernel's object; 0 bytes: not asked yet
    std::vector<MemoryCheck::Range> data;

    void ask(uint64_t pc) {
        struct Question {
            Images& images;
            uint64_t pc, here;
        } question{*this, pc, reinterpret_cast<uint64_t>(&begin_memory_check)};
        code = {};
        data.clear();
        dl_iterate_phdr([](dl_phdr_info* info, size_t, void* argument) {
            auto& [images, pc, here] = *static_cast<Question*>(argument);
            MemoryCheck::Range whole{~uint64_t{0}, 0};
            uint64_t end = 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type != PT_LOAD) continue;
                whole.begin = std::min<uint64_t>(whole.begin, info->dlpi_addr + part.p_vaddr);
                end = std::max<uint64_t>(end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
            }
            whole.bytes = end - std::min(whole.begin, end);
            const bool is_kernel = pc - whole.begin < whole.bytes;
            if (!is_kernel && here - whole.begin >= whole.bytes) return 0;
            if (is_kernel) images.code = whole;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type == PT_LOAD) images.data.push_back({info->dlpi_addr + part.p_vaddr, part.p_memsz});
                if (part.p_type == PT_TLS && info->dlpi_tls_data) images.data.push_back({reinterpret_cast<uint64_t>(info->dlpi_tls_data), part.p_memsz});
            }
            return 0;
        }, &question);
    }
    const MemoryCheck::Range* find(uint64_t at, uint64_t pc) {
        // Once more before the answer is no: thread-local variables of a library come into being when they are first used.
        for (bool asks = pc - code.begin >= code.bytes;; asks = true) {
            if (asks) ask(pc);
            for (const auto& range : data)
                if (at - range.begin < range.bytes) return &range;
            if (asks) return nullptr;
        }
    }
};
thread_local Images images;
thread_local std::unique_ptr<AccessTags> own_tags;

// Whether the host's memory there is the kernel's to use; remembered then.
bool is_own(const Core& core, uint64_t at, const void* pc) {
    MemoryCheck& m = memory_check;
    const auto* p = reinterpret_cast<const void*>(at);
    if (core.fiber.owns(p)) {               // with its guard: a full stack ends in a trap, which knows what to say
        m.own[0] = {reinterpret_cast<uint64_t>(core.fiber.stack_bottom()) - Fiber::kGuardBytes, Fiber::kGuardBytes + Fiber::kStackBytes};
        return true;
    }
    if (is_simt_memory(p, &m.own[1].begin, &m.own[1].bytes)) return true;
    // What vector instructions ask, where they stand in code that the compiler instruments.
    if (const auto bits = reinterpret_cast<uint64_t>(m.defined); at - bits < kUbBytes / 8 + 8) {
        m.own[2] = {bits, kUbBytes / 8 + 8};
        return true;
    }
    const auto* range = images.find(at, reinterpret_cast<uint64_t>(pc));
    if (range) m.own[2] = *range;
    return range != nullptr;
}

// Memory of the kernel's own on the host, or a tensor that is remembered from now on.
void check_elsewhere(Core& core, const char* name, uint64_t at, uint64_t bytes, Access access, const void* pc) {
    MemoryCheck& m = memory_check;
    for (const auto& tensor : m.tensor)
        if (at - tensor.begin < tensor.bytes && tensor.bytes - (at - tensor.begin) >= bytes) return;
    for (const auto& own : m.own)
        if (at - own.begin < own.bytes) return;
    const Hbm& hbm = core.ai.launch->device().hbm;
    if (at - m.arena_begin >= m.arena_bytes) {
        if (is_own(core, at, pc)) return;
        fault(core, name, access, pc, what_is_at(core, at));
    }
    Hbm::Range range;
    if (!hbm.find(reinterpret_cast<const void*>(at), &range)) fault(core, name, access, pc, not_live(hbm, at));
    if (range.end - at < bytes)
        fault(core, name, access, pc,
              format("global memory 0x%llx to 0x%llx leaves its tensor, which ends at 0x%llx (%llu bytes too far)", hex(at), hex(at + bytes),
                     hex(range.end), hex(at + bytes - range.end)));
    m.tensor[1] = m.tensor[0];
    m.tensor[0] = {range.begin, range.end - range.begin};
}

}  // namespace

void begin_memory_check() {
    Core& core = this_core();
    MemoryCheck& m = memory_check;
    const Hbm& hbm = core.ai.launch->device().hbm;
    m = {};
    in_vector_function = false;  // a fault may have left one
    images.code = {};
    m.arena_begin = hbm.begin() - hbm.guard_bytes();
    m.arena_bytes = hbm.capacity_bytes() + 2 * hbm.guard_bytes();
    m.ub_begin = ~uint64_t{0} / 2;                // far from everything: always the slow way
    if (core.ai.launch->skips_effects()) return;  // timing mode: transfers leave no data
    for (Memory& ub : core.ai.ub) {
        if (const uint32_t said = core.ai.launch->ub_bytes()) ub.set_usable_bytes(std::min(said, kUbBytes));
        if (ub.valid.byte_bits()) continue;
        ub.valid.track_bytes();
        auto* words = reinterpret_cast<uint16_t*>(ub.at(0));
        std::fill(words, words + kUbBytes / 2, kUndefined);
    }
    Memory& ub = core.ai.ub_of(core);
    m.ub_begin = reinterpret_cast<uint64_t>(ub.at(0));
    m.ub_bytes = ub.usable_bytes();
    m.defined = ub.valid.byte_bits();
    if (!own_tags) own_tags = std::make_unique<AccessTags>();
    own_tags->raced.bytes = 0;
    m.tags = own_tags.get();
}

void forget_simt_accesses() {
    if (!own_tags) return;
    std::memset(own_tags->written, 0, sizeof own_tags->written);
    std::memset(own_tags->read, 0, sizeof own_tags->read);
}

void forget_simt_reads(uint64_t offset, uint64_t bytes) {
    std::memset(memory_check.tags->read + offset, 0, bytes * sizeof *memory_check.tags->read);
}

uint64_t undefined_value(const void* pc) {
    memory_check.undefined_read_at = pc;
    return kUndefined * 0x0001000100010001ull;
}

namespace {

[[noreturn]] void fail_race(Core& core, uint64_t offset, uint64_t bytes, const char* did, uint32_t tag, bool is_store, const void* pc) {
    const uint32_t warp = tag & kSeveral, first = warp * kWarpThreads;
    const std::string who = warp == kSeveral ? "several warps have" : format("warp %u (threads %u to %u) has", warp, first, first + kWarpThreads - 1);
    fault(core, nullptr, is_store ? Access::plain_store : Access::plain_load, pc,
          format("a race on %s address 0x%llx, %llu bytes: %s %s there, with no asc_syncthreads in between", core.ai.ub_of(core).name(), hex(offset),
                 hex(bytes), who.c_str(), did));
}

// Behind the store: did it change what another warp has used?
void settle_race(Core& core) {
    MemoryCheck& m = memory_check;
    AccessTags::Raced& raced = m.tags->raced;
    const uint64_t bytes = std::exchange(raced.bytes, 0);
    for (uint64_t i = 0; i < bytes; ++i) {
        const bool by_store = is_other_warp(raced.written[i], m.simt_tag);
        if (!by_store && !is_other_warp(raced.read[i], m.simt_tag)) continue;
        if (*reinterpret_cast<const uint8_t*>(m.ub_begin + raced.offset + i) == raced.value[i]) m.tags->written[raced.offset + i] = m.simt_tag | kSeveral;
        else fail_race(core, raced.offset, bytes, by_store ? "written" : "read", by_store ? raced.written[i] : raced.read[i], true, m.pending_pc);
    }
}

}  // namespace

void check_race(uint64_t offset, uint64_t bytes, bool is_store, const void* pc) {
    MemoryCheck& m = memory_check;
    for (uint64_t i = offset; !is_store && i < offset + bytes; ++i) {
        const uint32_t written = m.tags->written[i];
        // Where several have written the same value, this warp may be one of them.
        if (is_other_warp(written, m.simt_tag) && (written & kSeveral) != kSeveral) fail_race(this_core(), offset, bytes, "written", written, false, pc);
        if (!is_other_warp(m.tags->read[i], m.simt_tag) || (i | bytes) % 4) continue;
        uint32_t now;
        std::memcpy(&now, reinterpret_cast<const void*>(m.ub_begin + i), 4);
        if (m.tags->value[i / 4] != now) fail_race(this_core(), offset, bytes, "changed what it has read", m.tags->read[i], false, pc);
    }
    AccessTags::Raced& raced = m.tags->raced;
    if (!is_store || bytes > sizeof raced.value) return;
    raced.offset = offset;
    raced.bytes = bytes;
    std::memcpy(raced.value, reinterpret_cast<const void*>(m.ub_begin + offset), bytes);
    std::memcpy(raced.written, m.tags->written + offset, bytes * 4);
    std::memcpy(raced.read, m.tags->read + offset, bytes * 4);
    m.pending_saw_load = false;
    m.pending = m.ub_begin + offset;
    m.pending_bytes = bytes;
    m.pending_pc = pc;
}

std::string beyond_allocation(const Memory& memory, int64_t offset, int64_t bytes) {
    const auto end = static_cast<unsigned long long>(offset + bytes);
    const std::string of = running_core && running_core->ub_name ? format(" (%s)", running_core->ub_name) : "";
    return format("%s addresses 0x%llx to 0x%llx: the launch allocates %u bytes%s, which end at 0x%x (%llu bytes too far)", memory.name(),
                  static_cast<unsigned long long>(offset), end, memory.usable_bytes(), of.c_str(), memory.usable_bytes(), end - memory.usable_bytes());
}

void check_access(const char* name, const void* address, uint64_t bytes, Access access, const void* pc) {
    if (!running_core || bytes == 0) return;  // static initialisers
    Core& core = *running_core;
    Memory& ub = core.ai.ub_of(core);
    MemoryCheck& m = memory_check;
    if (!ub.valid.byte_bits()) return;        // not this launch
    const bool is_plain = access == Access::plain_load || access == Access::plain_store;
    if (!is_plain && m.pending_bytes) settle_pending_store();
    const auto at = reinterpret_cast<uint64_t>(address), begin = reinterpret_cast<uint64_t>(ub.at(0));
    m.ub_begin = begin;
    m.ub_bytes = ub.usable_bytes();
    m.defined = ub.valid.byte_bits();
    const auto guard = static_cast<uint64_t>(ub.guard_bytes());
    if (at - begin + guard >= kUbBytes + 2 * guard) {
        if (!is_plain) fault(core, name, access, pc, format("address 0x%llx is not in UB", hex(at)));
        check_elsewhere(core, name, at, bytes, access, pc);
    } else {
        const auto offset = static_cast<int64_t>(at - begin);
        if (offset < 0 || static_cast<uint64_t>(offset) + bytes > kUbBytes)
            fault(core, name, access, pc, format("%s address %s0x%llx, %llu bytes: the memory has addresses 0x0 to 0x%x", ub.name(), offset < 0 ? "-" : "",
                                                 hex(static_cast<uint64_t>(offset < 0 ? -offset : offset)), hex(bytes), kUbBytes));
        // A register may be longer than the rest of a buffer. Whole ones are loaded: what lies behind is undefined, like a short row's rest.
        const uint64_t end = access == Access::vector_load && static_cast<uint64_t>(offset) < m.ub_bytes ? kUbBytes : m.ub_bytes;
        if (static_cast<uint64_t>(offset) + bytes > end)
            fault(core, name, access, pc, beyond_allocation(ub, offset, static_cast<int64_t>(bytes)));
        const auto first = static_cast<uint32_t>(offset), count = static_cast<uint32_t>(bytes);
        if (access == Access::store || access == Access::plain_store) ub.valid.set(first, count);
        else if (ub.valid.first_undefined_byte(first, count) >= 0 && (access == Access::plain_load || !ub.valid.any_defined_byte(first, count))) {
            m.undefined_read_at = pc;
            if (is_plain && m.last_store_bytes && !m.pending_bytes) {
                m.pending_saw_load = true;
                m.pending = std::exchange(m.last_store, 0);
                m.pending_bytes = std::exchange(m.last_store_bytes, 0);
                m.pending_pc = pc;
            }
        }
    }
    if (access == Access::plain_store) m.last_store = at, m.last_store_bytes = bytes;
    if (is_plain && m.simt_tag && at - begin < kUbBytes) note_simt_access(at - begin, bytes, access == Access::plain_store, pc);
    if (access == Access::plain_store && m.undefined_read_at) {
        m.pending = at;
        m.pending_bytes = bytes;
        m.pending_pc = pc;
        m.pending_saw_load = false;
    }
}

void check_order(const char* name, const void* address, uint64_t bytes, Access access, const void* pc) {
    if (!running_core || !running_core->ai.races || bytes == 0) return;
    Core& core = *running_core;
    const Memory& ub = core.ai.ub_of(core);
    const int64_t offset = ub.offset_of(address);
    if (offset < 0 || static_cast<uint64_t>(offset) + bytes > kUbBytes) return;  // elsewhere, or reported as out of range
    const bool is_plain = access == Access::plain_load || access == Access::plain_store;
    if (is_plain && in_vector_function && !simt.is_running) return;  // a vector instruction's, which has asked by itself
    const bool is_write = access == Access::plain_store || access == Access::store;
    const Pipe pipe = is_plain && !simt.is_running ? Pipe::S : Pipe::V;
    const Piece piece{static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)};
    const RaceCheck::Race race = access == Access::plain_load ? core.ai.races->plain_load(core, pipe, pc, ub, piece)
                                                              : core.ai.races->access(core, pipe, pc, ub, piece, is_write);
    if (race.what.empty()) return;
    if (race.pc == pc && race.is_write == is_write) fault(core, name, access, pc, race.what);
    if (race.pipe == pipe) fault(core, nullptr, Access::plain_store, race.pc, race.what);
    memory_check.pending_bytes = 0;  // scalar code's, which a vector function's first access has settled
    if (memory_check.tags) memory_check.tags->raced.bytes = 0;
    give_up(core, race.pipe == Pipe::S ? "scalar store" : "SIMT store", race.pipe, race.pc, race.what);
}

namespace {
void check_plain_access(const void* address, uint64_t bytes, Access access, const void* pc) {
    see_to_pending_store(access);
    check_order(nullptr, address, bytes, access, pc);
    check_access(nullptr, address, bytes, access, pc);
}
}  // namespace

void* checked_copy(void* to, const void* from, uint64_t bytes, const void* pc) {
    check_plain_access(from, bytes, Access::plain_load, pc);
    check_plain_access(to, bytes, Access::plain_store, pc);
    return std::memmove(to, from, bytes);
}

void* checked_fill(void* to, int byte, uint64_t bytes, const void* pc) {
    check_plain_access(to, bytes, Access::plain_store, pc);
    return std::memset(to, byte, bytes);
}

void look_at_stored(const void* address, uint64_t bytes, int element_bytes, bool is_float) {
    Memory& ub = this_core().ai.ub_of(this_core());
    const int64_t offset = ub.offset_of(address);
    if (!ub.valid.byte_bits() || offset < 0) return;
    for (uint64_t i = 0; i < bytes && static_cast<uint64_t>(offset) + i < kUbBytes; i += static_cast<uint64_t>(element_bytes)) {
        const auto at = static_cast<uint32_t>(offset) + static_cast<uint32_t>(i);
        if (is_undefined_nan(ub.at(at), element_bytes, is_float)) ub.valid.undefine_bytes(at, static_cast<uint32_t>(element_bytes));
    }
}

void settle_pending_store() {
    MemoryCheck& m = memory_check;
    const uint64_t bytes = std::exchange(m.pending_bytes, 0);
    if (m.tags && m.tags->raced.bytes) settle_race(this_core());
    if (!m.undefined_read_at) return;
    const auto* at = reinterpret_cast<const uint8_t*>(m.pending);
    const int element_bytes = bytes % 4 == 0 ? 4 : static_cast<int>(bytes);
    Core& core = this_core();
    if (core.ai.ub_of(core).offset_of(at) >= 0) return look_at_stored(at, bytes, element_bytes, false);
    if (m.pending - m.arena_begin >= m.arena_bytes) return;
    for (uint64_t i = 0; i < bytes; i += static_cast<uint64_t>(element_bytes))
        if (is_undefined_nan(at + i, element_bytes, false))
            fault(core, nullptr, Access::plain_store, m.pending_pc,
                  format("undefined data goes to global memory 0x%llx%s", hex(m.pending + i), last_read().c_str()));
}

const void* last_undefined_read(const Core& core) {
    if (&core != running_core) return nullptr;
    if (memory_check.pending_bytes) settle_pending_store();
    return memory_check.undefined_read_at;
}

void require_defined(Core& core, const Record& record, const Memory& memory, uint32_t offset, uint32_t bytes) {
    if (memory_check.pending_bytes && &core == running_core) settle_pending_store();
    const int64_t undefined = memory.valid.first_undefined_byte(offset, bytes);
    if (undefined >= 0)
        core.fail(record, format("source: %s address 0x%llx holds undefined data: nothing has written it since the block began, or what was written "
                                 "had been computed from such data%s", memory.name(), hex(static_cast<uint64_t>(undefined)), last_read().c_str()));
}

}  // namespace ascend::isa
