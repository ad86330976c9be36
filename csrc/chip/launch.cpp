// SPDX-License-Identifier: MIT
// Who runs which block, when is a launch stuck, and what is added to the clock afterwards?
#include "chip/launch.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <thread>

#include "chip/device.h"
#include "chip/host_pool.h"
#include "chip/profile.h"
#include "chip/races.h"
#include "chip/replay.h"
#include "chip/spec.h"
#include "chip/timeline.h"
#include "chip/trap.h"

namespace ascend {

namespace {

std::atomic<Mode> current_mode{Mode::full};
std::atomic<double> launch_timeout_s{300.0};

// AI cores are 2 MiB of memories and three stacks each: kept for the next launch.
class AiCorePool {
public:
    std::unique_ptr<AiCore> take() {
        std::lock_guard lock(mutex_);
        if (free_.empty()) return std::make_unique<AiCore>();
        auto core = std::move(free_.back());
        free_.pop_back();
        return core;
    }
    void give(std::unique_ptr<AiCore> core) {
        std::lock_guard lock(mutex_);
        free_.push_back(std::move(core));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<AiCore>> free_;
};

AiCorePool& ai_core_pool() {
    static auto* pool = new AiCorePool;  // never destroyed: a launch may run while the process exits
    return *pool;
}

std::shared_ptr<LaunchTrace> take_trace() {
    // Traces are tens of MB for a large launch: the memory is reused, per host thread that launches.
    static thread_local std::shared_ptr<LaunchTrace> kept;
    if (!kept || kept.use_count() > 1) kept = std::make_shared<LaunchTrace>();
    for (AiCoreTrace& core : kept->ai_cores) {
        for (CoreTrace& trace : core.of) trace.clear();
        core.block_starts.clear();
    }
    kept->sites.clear();
    return kept;
}

}  // namespace

// The blocks of one AI core, run one after another.
class BlockRunner {
public:
    enum class State { finished, waits_for_grid };

    BlockRunner(Launch& launch, int ai_index) : launch_(launch), core_(ai_core_pool().take()), next_slot_(ai_index) {
        core_->launch = &launch;
        core_->index = ai_index;
        start_next();
    }
    ~BlockRunner() {
        for (Core* core : core_->cores) {
            running_core = core;
            core->fiber.cancel();
        }
        running_core = nullptr;
        core_->atomics.clear();
        core_->atomic_data.clear();
        ai_core_pool().give(std::move(core_));
    }

    State run() {
        while (active_) {
            const uint64_t before = core_->progress;
            bool live = false;
            for (Core* core : core_->cores) {
                if (core->fiber.done()) continue;
                live = true;
                running_core = core;
                core->fiber.resume();
                running_core = nullptr;
                if (core->fiber.done()) {
                    ++core_->progress;
                    if (core->fiber.error()) std::rethrow_exception(core->fiber.error());
                }
            }
            bool deferred = false;
            for (Core* core : core_->cores)
                if (core->has_deferred()) {
                    core->advance_all();
                    deferred |= core->has_deferred();
                }
            if (const std::string reason = launch_.reason_to_end(); !reason.empty()) throw LaunchError(launch_.title() + ": " + reason);
            if (!live && !deferred) {
                launch_.collect_atomics(*core_);
                start_next();
                continue;
            }
            if (core_->progress != before) continue;
            for (Core* core : core_->cores)
                if (core->waits_for_grid()) return State::waits_for_grid;
            throw LaunchError(launch_.title() + ": no core can continue" + waits());
        }
        return State::finished;
    }

    int core_index() const { return core_->index; }
    std::string waits() const {
        std::string table;
        for (const Core* core : core_->cores) core->describe_waits(table);
        return table;
    }

private:
    // Whether the core has a part in the blocks from `first` on.
    bool runs(const Core& core, int first) const {
        switch (launch_.kernel_.type) {
            case CoreType::cube: return core.kind == CoreKind::aic;
            case CoreType::mix: return true;
            case CoreType::vector:
                return core.kind == CoreKind::aiv0 || (core.kind == CoreKind::aiv1 && first + 1 < launch_.options_.blocks);
        }
        return false;
    }
    // What libraries throw that kernel text calls is the kernel's fault, too. Text of its own that throws: csrc/isa/kernel_text.cpp.
    static void run_entry(const Launch& launch, Core& core) {
        std::string what;
        try {
            return launch.kernel_.entry(launch.args_);
        } catch (const FiberCancelled&) {
            throw;
        } catch (const LaunchError&) {
            throw;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            what = std::string("an exception: ") + error.what();
        } catch (...) {
            what = "an exception";
        }
        core.fail("throw", Pipe::S, nullptr, what);
    }
    void start_next() {
        active_ = false;
        // Vector kernels use one AIV a block: AI core c runs blocks 2c and 2c+1; waves follow at the chip's width.
        const bool vector = launch_.kernel_.type == CoreType::vector;
        const int per_core = vector ? 2 : 1;
        const int first = next_slot_ * per_core;
        next_slot_ += launch_.ai_cores_;
        if (first >= launch_.options_.blocks) return;
        core_->reset_for_block();
        AiCoreTrace* trace = launch_.traces_ ? &launch_.trace_->ai_cores[core_->index] : nullptr;
        if (trace && first != core_->index * per_core)
            trace->block_starts.push_back({static_cast<uint32_t>(trace->of[0].size()),
                                           static_cast<uint32_t>(trace->of[1].size()),
                                           static_cast<uint32_t>(trace->of[2].size())});
        for (Core* core : core_->cores) {
            const int kind = static_cast<int>(core->kind);
            core->trace = trace ? &trace->of[kind] : nullptr;
            core->reset_for_block(vector ? first + (kind == 2) : first, runs(*core, first));
        }
        auto start = [&](Core& core) {
            const Launch& launch = launch_;
            Core* self = &core;
            core.fiber.start([&launch, self] {
                run_entry(launch, *self);
                if (self->ai.races) [[unlikely]] self->ai.races->code_ended(*self);
                self->flush_pending_vector_work();
            });
        };
        for (Core* core : core_->cores)
            if (runs(*core, first)) start(*core);
        active_ = true;
    }

    Launch& launch_;
    std::unique_ptr<AiCore> core_;
    int next_slot_;
    bool active_ = false;
};

Launch::Launch(const Kernel& kernel, Device& device, const LaunchOptions& options, const uint8_t* args)
    : kernel_(kernel), device_(device), options_(options), args_(args) {
    const int per_core = kernel.type == CoreType::vector ? 2 : 1;
    const int chip_cores = chip_spec().cores;
    resident_blocks_ = chip_cores * per_core;
    ai_cores_ = std::min(chip_cores, (options.blocks + per_core - 1) / per_core);
    const Mode how = current_mode;
    skips_effects_ = how == Mode::timing && kernel.data_independent;
    traces_ = how != Mode::functional;
    trace_ = take_trace();
    if (traces_) {
        if (static_cast<int>(trace_->ai_cores.size()) < ai_cores_) trace_->ai_cores.resize(ai_cores_);
        while (static_cast<int>(trace_->ai_cores.size()) > ai_cores_) trace_->ai_cores.pop_back();
        trace_->blocks = options.blocks;
        trace_->mixed = kernel.type == CoreType::mix;
    }
    time_limit_s_ = launch_timeout_s;
    has_deadline_ = time_limit_s_ > 0;
    deadline_ = std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<int64_t>(time_limit_s_ * 1e6));
}

std::string Launch::title() const { return format("%s on %s", kernel_.name, chip_spec().name.c_str()); }

// ---- phase 1 --------------------------------------------------------------------------------------------------------

void Launch::execute() {
    if (options_.blocks <= 0) return;
    install_traps();
    watch_interrupts();
    std::condition_variable_any wake;
    wake_ = &wake;
    const int workers = std::min(host_threads(), ai_cores_);
    live_workers_ = workers;
    HostPool::instance().run(workers, [this] { worker(); });
    wake_ = nullptr;
    if (error_) std::rethrow_exception(error_);
    if (traces_) {
        trace_->sites.resize(site_ids_.size());
        for (const auto& [address, id] : site_ids_) trace_->sites[id] = address;
    }
    apply_atomics();
}

void Launch::worker() {
    prepare_thread_for_traps();
    const Ticks ticks;
    std::vector<std::unique_ptr<BlockRunner>> waiting;  // stopped at a grid-wide barrier
    auto give_up = [&](std::exception_ptr error) {
        std::lock_guard lock(mutex_);
        if (error && !error_) error_ = error;
        given_up_ = true;
        wake_->notify_all();
    };
    try {
        uint64_t seen = 0;
        for (;;) {
            // New AI cores first: a barrier can only open when all of them have arrived.
            for (int next; !given_up_ && (next = next_ai_core_++) < ai_cores_;) {
                auto runner = std::make_unique<BlockRunner>(*this, next);
                if (runner->run() == BlockRunner::State::waits_for_grid) waiting.push_back(std::move(runner));
            }
            seen = epoch_;
            bool moved = false;
            for (auto& runner : waiting) {
                const uint64_t before = epoch_;
                if (runner->run() == BlockRunner::State::finished) runner.reset();
                moved |= !runner || epoch_ != before;
            }
            waiting.erase(std::remove(waiting.begin(), waiting.end(), nullptr), waiting.end());
            if (waiting.empty() || given_up_) break;
            if (moved) continue;
            std::unique_lock lock(mutex_);
            if (epoch_ != seen) continue;
            parked_.push_back(&waiting);
            if (static_cast<int>(parked_.size()) == live_workers_) declare_deadlock();
            wake_->wait(lock, [&] { return epoch_ != seen || given_up_; });
            if (given_up_) break;
        }
    } catch (const FiberCancelled&) {
    } catch (...) {
        give_up(std::current_exception());
    }
    waiting.clear();
    std::lock_guard lock(mutex_);
    if (--live_workers_ > 0 && !given_up_ && static_cast<int>(parked_.size()) == live_workers_) declare_deadlock();
}

// Every worker still alive sleeps, and nobody is left to wake them. Called with the mutex held.
void Launch::declare_deadlock() {
    std::map<int, std::string> waits;  // by core, whichever host thread has it
    for (const auto* runners : parked_)
        for (const auto& runner : *runners) waits[runner->core_index()] = runner->waits();
    std::string table;
    for (const auto& [core, lines] : waits) table += lines;
    error_ = std::make_exception_ptr(LaunchError(title() + ": no core can continue" + table));
    given_up_ = true;
    wake_->notify_all();
}

int Launch::participants(const Core& core) const {
    if (core.kind == CoreKind::aic) return options_.blocks;
    return kernel_.type == CoreType::mix ? 2 * options_.blocks : options_.blocks;
}

void Launch::arrive(Core& core, int id) {
    std::lock_guard lock(mutex_);
    auto& arrivals = arrivals_[core.kind == CoreKind::aic ? 0 : 1][id];
    AiCore& ai = core.ai;
    if (!ai.atomics.empty()) {
        atomics_.push_back({core.block, std::move(ai.atomics), std::move(ai.atomic_data)});
        ai.atomics.clear();
        ai.atomic_data.clear();
    }
    const uint64_t count = arrivals + 1;
    if (count % participants(core) == 0) apply_atomics();
    arrivals = count;
    ++epoch_;
    parked_.clear();
    ++ai.progress;
    wake_->notify_all();
}

bool Launch::all_arrived(const Core& core, int id, uint32_t generation) const {
    return arrivals_[core.kind == CoreKind::aic ? 0 : 1][id] >=
           uint64_t{generation + 1} * static_cast<uint64_t>(participants(core));
}

std::string Launch::describe_arrivals(const Core& core, int id) const {
    const int all = participants(core);
    const uint64_t arrived = arrivals_[core.kind == CoreKind::aic ? 0 : 1][id];
    return format("%d of %d cores arrived", static_cast<int>(arrived % all), all);
}

void Launch::collect_atomics(AiCore& core) {
    if (core.atomics.empty()) return;
    std::lock_guard lock(mutex_);
    atomics_.push_back({core.aic.block, std::move(core.atomics), std::move(core.atomic_data)});
    core.atomics.clear();
    core.atomic_data.clear();
}

// In (block, program order), whatever host thread ran the block.
void Launch::apply_atomics() {
    std::stable_sort(atomics_.begin(), atomics_.end(),
                     [](const Atomics& a, const Atomics& b) { return a.block < b.block; });
    for (const Atomics& block : atomics_)
        for (const PendingAtomic& store : block.stores)
            store.apply(store.gm, block.data.data() + store.data_offset, store.bytes);
    atomics_.clear();
}

uint32_t Launch::site_of(uint64_t return_address) {
    std::lock_guard lock(sites_mutex_);
    return site_ids_.emplace(return_address, static_cast<uint32_t>(site_ids_.size())).first->second;
}

uint64_t Launch::site_address(uint32_t site) const {
    std::lock_guard lock(sites_mutex_);
    for (const auto& [address, id] : site_ids_)
        if (id == site) return address;
    return 0;
}

bool Launch::must_end() const noexcept {
    return given_up_ || interrupts_before_ != interrupts() || (has_deadline_ && std::chrono::steady_clock::now() > deadline_);
}

std::string Launch::reason_to_end() const {
    if (given_up_) throw FiberCancelled{};
    if (!must_end()) return {};
    if (interrupts_before_ != interrupts()) return "interrupted here (SIGINT)";
    return format("still running after %.0f s, the limit set by DG_JIT_LAUNCH_TIMEOUT", time_limit_s_);
}

// ---- both phases ----------------------------------------------------------------------------------------------------

void launch(const Kernel& kernel, Device& device, const LaunchOptions& options, const void* args) {
    const auto begin = std::chrono::steady_clock::now();
    Launch run(kernel, device, options, static_cast<const uint8_t*>(args));
    run.execute();
    if (!run.traces()) {
        profile_functional_launch(device.index, kernel.name, options.detail);
        return;
    }
    std::lock_guard lock(device.replay_mutex);
    finish_launch(run.trace(), kernel, device, options, begin);
}

// ---- process-wide switches ------------------------------------------------------------------------------------------

namespace {
std::atomic<int> forced_threads{0};
}

Mode mode() { return current_mode; }
void set_mode(Mode mode) { current_mode = mode; }
int host_threads() {
    const int forced = forced_threads;
    if (forced > 0) return forced;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
void set_host_threads(int threads) { forced_threads = threads; }
void set_launch_timeout(double seconds) { launch_timeout_s = seconds; }

}  // namespace ascend
