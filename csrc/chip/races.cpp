// SPDX-License-Identifier: MIT
// Vector clocks of the pipes of one AI core, and who touched each 32 bytes of its memories last. Note "Order": races.h.
#include "chip/races.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "chip/launch.h"
#include "chip/source_line.h"

namespace ascend {

namespace {

std::atomic<bool> switched_on{false};

// Origin of an access: who, by which instruction, where. An instruction: `value` is its site; code: an address in it.
constexpr int kComponentShift = 59, kOpShift = 48;
constexpr uint64_t kIsInstruction = uint64_t{1} << 58, kHasUnitFlag = uint64_t{1} << 57, kOpMask = 511, kValueMask = (uint64_t{1} << kOpShift) - 1;

int component_of(uint64_t origin) { return static_cast<int>(origin >> kComponentShift); }

uint64_t origin_of(int component, const Record& record) {
    const bool unit_flag = record.path == Path::cube ? record.mmad.unit_flag & 2
                           : record.pipe == Pipe::FIX && record.path >= Path::l0c_to_ub && record.path <= Path::l0c_to_gm && record.fix.unit_flag & 2;
    return uint64_t(component) << kComponentShift | kIsInstruction | (unit_flag ? kHasUnitFlag : 0) | uint64_t{record.op} << kOpShift | record.site;
}

uint64_t origin_of(int component, const void* pc) {
    return uint64_t(component) << kComponentShift | (reinterpret_cast<uint64_t>(pc) & kValueMask);
}

constexpr size_t kMostSets = 256, kMostReleases = 16;  // that are told apart, of a flag, a lock

// Which of a granule's places a pipe uses. Of those that share one, at most one at a time writes to a memory in a right kernel.
int place_of(Pipe pipe) {
    return pipe == Pipe::S ? 0 : pipe == Pipe::V ? 1 : pipe == Pipe::MTE2 ? 2 : 3;
}
int reading_place_of(Pipe pipe) { return std::min(place_of(pipe), 2); }

uint32_t flag_key(CoreKind kind, Pipe source, Pipe destination, int id) {
    return static_cast<uint32_t>(((static_cast<int>(kind) * kPipes + static_cast<int>(source)) * kPipes + static_cast<int>(destination)) * kFlagIds + id);
}
constexpr uint32_t kCross = 1 << 16, kLock = 2 << 16, kGrid = 3 << 16;
uint32_t cross_key(CoreKind kind, int id) { return kCross + static_cast<uint32_t>(static_cast<int>(kind) * kCrossIds + id); }
uint32_t lock_key(CoreKind kind, int id) { return kLock + static_cast<uint32_t>(static_cast<int>(kind) * kLockIds + id); }
uint32_t grid_key(CoreKind kind, int id) { return kGrid + static_cast<uint32_t>((kind == CoreKind::aic) * kCrossIds + id); }

}  // namespace

void RaceCheck::switch_on(bool on) { switched_on = on; }
bool RaceCheck::is_on() { return switched_on.load(std::memory_order_relaxed); }

RaceCheck::RaceCheck(const AiCore& ai)
    : shadows_{{&ai.ub[0], {}}, {&ai.ub[1], {}}, {&ai.l1, {}}, {&ai.l0a, {}}, {&ai.l0b, {}}, {&ai.l0c, {}}, {&ai.l0a_mx, {}}, {&ai.l0b_mx, {}}, {&ai.bt, {}}, {&ai.fb, {}}} {
    for (int i = 0; i < kComponents; ++i) clock_of(i)[static_cast<size_t>(i)] = 1;
    for (Waited& waited : waited_) waited = std::make_shared<const Clock>();
}

void RaceCheck::new_block() {
    Clock all{};
    for (const Clock& clock : clocks_) join(all, clock);
    for (int i = 0; i < kComponents; ++i) {
        clock_of(i) = all;
        ++clock_of(i)[static_cast<size_t>(i)];
    }
    for (Waited& waited : waited_) waited = std::make_shared<const Clock>(all);
    for (Queued& queued : queued_) queued = {};
    for (uint32_t& issued : issued_) issued = 0;
    for (Loads& loads : loads_) loads = {};
    flags_.clear();
    others_.clear();
}

// ---- what orders ----------------------------------------------------------------------------------------------------

void RaceCheck::join(Clock& clock, const Clock& other) {
    for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void RaceCheck::acquire(CoreKind kind, Pipe pipe, const Clock& clock) {
    Clock& own = clock_of(component(kind, pipe));
    join(own, clock);
    if (pipe == Pipe::S) waited_[static_cast<int>(kind)] = std::make_shared<const Clock>(own);
}

RaceCheck::Clock RaceCheck::release(int which) {
    const Clock before = clock_of(which);
    ++clock_of(which)[static_cast<size_t>(which)];
    return before;
}

void RaceCheck::add(Releases& releases, uint32_t place, const Clock& clock) {
    for (Release& known : releases)
        if (known.place == place) return join(known.clock, clock);
    releases.push_back({place, clock});
    if (releases.size() <= kMostReleases) return;
    join(releases[1].clock, releases[0].clock);
    releases[1].place = std::min(releases[1].place, releases[0].place);
    releases.pop_front();
}

void RaceCheck::acquire_up_to(CoreKind kind, Pipe pipe, const Releases& releases, uint32_t place) {
    Clock all{};
    for (const Release& release : releases)
        if (release.place <= place) join(all, release.clock);
    acquire(kind, pipe, all);
}

// Of the instruction that the pipe performs.
uint32_t RaceCheck::place_now(const Core& core, Pipe pipe) const {
    return pipe == Pipe::S ? issued_[static_cast<int>(core.kind)] : queued_[static_cast<size_t>(component(core.kind, pipe))].performing;
}

void RaceCheck::follow_s(CoreKind kind, Pipe pipe, const Waited& of_s) {
    Queued& queued = queued_[static_cast<size_t>(component(kind, pipe))];
    if (of_s == queued.joined) return;
    queued.joined = of_s;
    Clock waited = *of_s;
    waited[static_cast<size_t>(component(kind, Pipe::S))] = 0;  // what S has done itself needs a flag
    join(clock_of(component(kind, pipe)), waited);
}

bool RaceCheck::releases(const Record& record) {
    return record.op == op_set_flag || record.op == op_unlock || record.op == op_cross_set || record.op == op_grid_arrive;
}

void RaceCheck::issued(const Core& core, const Record& record) {
    settle_before_instruction(core);
    const int kind = static_cast<int>(core.kind);
    const uint32_t number = issued_[kind] += 2;
    if (record.pipe != Pipe::S) queued_[static_cast<size_t>(component(core.kind, record.pipe))].instructions.push_back({number, waited_[kind]});
}

void RaceCheck::performs(const Core& core, const Record& record) {
    const int own = component(core.kind, record.pipe);
    if (record.pipe != Pipe::S) {
        Queued& queued = queued_[static_cast<size_t>(own)];
        const Issued issued = std::move(queued.instructions.front());
        queued.instructions.pop_front();
        queued.performing = issued.number;
        follow_s(core.kind, record.pipe, issued.waited);
    }
    if (record.path == Path::cube && record.mmad.unit_flag & 2) ++clock_of(own)[static_cast<size_t>(own)];  // FIX will be behind this one, not the next
    if (record.path != Path::sync) return;
    const SyncPayload& sync = record.sync;
    const auto set = [&](uint32_t key, const Clock& clock) {
        std::deque<Set>& sets = flags_[key];
        if (sets.size() < kMostSets) {
            sets.push_back({clock});
        } else {
            join(sets.back().clock, clock);
            ++sets.back().times;
        }
    };
    const auto consume = [&](uint32_t key) {
        std::deque<Set>& sets = flags_[key];
        if (sets.empty()) return;
        acquire(core.kind, record.pipe, sets.front().clock);
        if (--sets.front().times == 0) sets.pop_front();
    };
    switch (record.op) {
        case op_set_flag: set(flag_key(core.kind, record.pipe, sync.other, sync.id), release(own)); break;
        case op_wait_flag: consume(flag_key(core.kind, sync.other, record.pipe, sync.id)); break;
        case op_cross_set: {
            const Clock clock = release(own);
            for (int target = 0; target < 3; ++target)
                if (sync.targets >> target & 1) set(cross_key(static_cast<CoreKind>(target), sync.target_id[target]), clock);
            break;
        }
        case op_cross_wait: consume(cross_key(core.kind, sync.id)); break;
        case op_unlock: add(others_[lock_key(core.kind, sync.id)], place_now(core, record.pipe), release(own)); break;
        case op_lock: acquire_up_to(core.kind, record.pipe, others_[lock_key(core.kind, sync.id)], place_now(core, record.pipe)); break;
        case op_grid_arrive: add(others_[grid_key(core.kind, sync.id)], sync.generation, release(own)); break;
        case op_grid_wait: acquire_up_to(core.kind, record.pipe, others_[grid_key(core.kind, sync.id)], sync.generation); break;
        default: break;
    }
}

void RaceCheck::all_pipes_drained(const Core& core) {
    settle_before_instruction(core);
    Clock all{};
    for (int pipe = 0; pipe < kPipes; ++pipe) join(all, clock_of(component(core.kind, static_cast<Pipe>(pipe))));
    for (int pipe = 0; pipe < kPipes; ++pipe) {
        const int own = component(core.kind, static_cast<Pipe>(pipe));
        clock_of(own) = all;
        ++clock_of(own)[static_cast<size_t>(own)];
    }
    waited_[static_cast<int>(core.kind)] = std::make_shared<const Clock>(all);
}

void RaceCheck::code_ended(const Core& core) { settle_before_instruction(core); }

// ---- who touched what -----------------------------------------------------------------------------------------------

RaceCheck::Granule* RaceCheck::granules_of(const Memory& memory) {
    for (Shadow& shadow : shadows_) {
        if (shadow.memory != &memory) continue;
        if (!shadow.granules) {
            auto* zero = static_cast<Granule*>(std::calloc(memory.bytes() / kUnitBytes, sizeof(Granule)));
            if (!zero) throw std::bad_alloc();
            shadow.granules.reset(zero);
        }
        return shadow.granules.get();
    }
    return nullptr;
}

void RaceCheck::access(const Core& core, const Record& record, const Memory& memory, const Piece& piece, bool is_write) {
    const int own = component(core.kind, record.pipe);
    const Access access{own, queued_[static_cast<size_t>(own)].performing, origin_of(own, record), is_write};
    const std::string race = note(core.ai, access, memory, piece);
    if (!race.empty()) core.fail(record, race);
}

RaceCheck::Race RaceCheck::access(const Core& core, Pipe pipe, const void* pc, const Memory& memory, const Piece& piece, bool is_write) {
    Loads& loads = loads_[static_cast<int>(core.kind)];
    if (loads.pipe != pipe)
        if (Race race = settle_all(core); !race.what.empty()) return race;
    if (pipe != Pipe::S) follow_s(core.kind, pipe, waited_[static_cast<int>(core.kind)]);
    const int own = component(core.kind, pipe);
    Race race{note(core.ai, {own, code_number(core), origin_of(own, pc), is_write}, memory, piece), pipe, is_write, pc};
    // What a load has seen changes by this store, whose line it is.
    for (size_t i = is_write ? std::min(loads.count, loads.latest.size()) : 0; i-- > 0;) {
        Loaded& loaded = loads.latest[i];
        if (loaded.memory == &memory && loaded.begin < piece.begin + piece.bytes && piece.begin < loaded.begin + loaded.bytes) loaded.bytes = 0;
    }
    return race;
}

RaceCheck::Race RaceCheck::plain_load(const Core& core, Pipe pipe, const void* pc, const Memory& memory, const Piece& piece) {
    Loads& loads = loads_[static_cast<int>(core.kind)];
    Race race = access(core, pipe, pc, memory, piece, false);
    if (!race.what.empty()) return race;
    Loaded& loaded = loads.latest[loads.count++ % loads.latest.size()];
    race = settle(core, pipe, loaded);
    if (piece.bytes > sizeof loaded.value) return race;
    loads.pipe = pipe;
    loaded.pc = pc;
    loaded.memory = &memory;
    loaded.begin = piece.begin;
    loaded.bytes = piece.bytes;
    std::memcpy(loaded.value, memory.at(piece.begin), piece.bytes);
    return race;
}

RaceCheck::Race RaceCheck::settle(const Core& core, Pipe pipe, Loaded& loaded) {
    const uint32_t bytes = std::exchange(loaded.bytes, 0);
    if (bytes == 0 || std::memcmp(loaded.memory->at(loaded.begin), loaded.value, bytes) == 0) return {};
    const int own = component(core.kind, pipe);
    const Access store{own, code_number(core), origin_of(own, loaded.pc), true};
    return {note(core.ai, store, *loaded.memory, {loaded.begin, bytes}), pipe, true, loaded.pc};
}

RaceCheck::Race RaceCheck::settle_all(const Core& core) {
    Loads& loads = loads_[static_cast<int>(core.kind)];
    for (size_t i = std::exchange(loads.count, 0) ? loads.latest.size() : 0; i-- > 0;)
        if (Race race = settle(core, loads.pipe, loads.latest[i]); !race.what.empty()) return race;
    return {};
}

void RaceCheck::settle_before_instruction(const Core& core) {
    if (const Race race = settle_all(core); !race.what.empty()) core.fail(race.pipe == Pipe::S ? "scalar store" : "SIMT store", race.pipe, race.pc, race.what);
}

std::string RaceCheck::note(const AiCore& ai, const Access& access, const Memory& memory, const Piece& piece) {
    Granule* granules = granules_of(memory);
    if (!granules || piece.bytes == 0) return {};
    const int own = access.component;
    Clock& clock = clock_of(own);
    const auto pipe = static_cast<Pipe>(own % kPipes);
    const uint32_t now = clock[static_cast<size_t>(own)];
    const auto races_with = [&](const Last& other, uint32_t bytes) {
        if (!(other.bytes & bytes)) return false;
        const int who = component_of(other.origin);
        if (who == own || other.clock <= clock[static_cast<size_t>(who)]) return false;
        if (!(access.origin & other.origin & kHasUnitFlag)) return true;
        if (pipe == Pipe::FIX) {  // it ends behind M, and so does what waits for it
            Clock of_m = clock_of(who);
            of_m[static_cast<size_t>(who)] = other.clock;
            join(clock, of_m);
        }
        return false;
    };
    for (uint32_t row = 0; row < piece.rows; ++row) {
        const uint32_t begin = piece.begin + row * piece.stride, end = std::min(begin + piece.bytes, memory.bytes());
        for (uint32_t at = begin / kUnitBytes * kUnitBytes; at < end; at += kUnitBytes) {
            Granule& granule = granules[at / kUnitBytes];
            uint32_t bytes = ~uint32_t{0};
            if (at < begin) bytes &= ~uint32_t{0} << (begin - at);
            if (end - at < kUnitBytes) bytes &= ~uint32_t{0} >> (kUnitBytes - (end - at));
            // Of several, the latest before it in the kernel: the others may be ordered behind that one, and with it.
            const Last* worst = nullptr;
            bool wrote = false;
            const auto note_race = [&](const Last& other, bool is_write) {
                if (!races_with(other, bytes)) [[likely]] return;
                const auto place = [&](const Last& one) {
                    return component_of(one.origin) / kPipes == own / kPipes && one.number <= access.number ? one.number + 1 : 0;
                };
                if (worst && place(other) <= place(*worst)) return;
                worst = &other;
                wrote = is_write;
            };
            for (const Last& other : granule.writes) note_race(other, true);
            if (access.is_write)
                for (const Last& other : granule.reads) note_race(other, false);
            if (worst) [[unlikely]]
                return describe(ai, *worst, wrote, access, memory, at + static_cast<uint32_t>(__builtin_ctz(worst->bytes & bytes)));
            Last& last = access.is_write ? granule.writes[place_of(pipe)] : granule.reads[reading_place_of(pipe)];
            const bool same = last.clock == now && component_of(last.origin) == own;
            last = {now, same ? last.bytes | bytes : bytes, access.origin, access.number};
        }
    }
    return {};
}

std::string RaceCheck::describe(const AiCore& ai, const Last& other, bool wrote, const Access& access, const Memory& memory, uint32_t address) const {
    const int who = component_of(other.origin), own = access.component;
    const auto pipe = static_cast<Pipe>(who % kPipes), own_pipe = static_cast<Pipe>(own % kPipes);
    const bool same_core = who / kPipes == own / kPipes;
    const std::string of = same_core ? "" : format(" of %s", core_kind_name(static_cast<CoreKind>(who / kPipes)));
    const std::string by = other.origin & kIsInstruction ? format("%s of %s%s", op_info(other.origin >> kOpShift & kOpMask).name, pipe_name(pipe), of.c_str())
                                                         : format("%s%s", pipe == Pipe::S ? "scalar code" : "a vector function", of.c_str());
    const uint64_t value = other.origin & kValueMask;
    const std::string line = source_line(other.origin & kIsInstruction ? ai.launch->site_address(static_cast<uint32_t>(value)) : value);
    const bool is_ahead = same_core && other.number > access.number;  // the other one comes later in the kernel
    const std::string needed = !same_core ? "a cross-core flag"
                               : is_ahead ? format("a flag %s->%s", pipe_name(own_pipe), pipe_name(pipe))
                                          : format("a flag %s->%s", pipe_name(pipe), pipe_name(own_pipe));
    return format("a race on %s address 0x%x: %s has %s there%s%s%s, and nothing orders the two; %s would", memory.name(), address, by.c_str(),
                  wrote ? "written" : "read", is_ahead ? " already," : "", line.empty() ? "" : " in ", line.c_str(), needed.c_str());
}

}  // namespace ascend
