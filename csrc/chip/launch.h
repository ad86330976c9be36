// SPDX-License-Identifier: MIT
// How does a grid of blocks become values and a time? Phase 1 runs every block's cores as fibers on host threads and
// records their traces; phase 2 replays the traces against the chip description.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "chip/core.h"
#include "chip/interrupt.h"

namespace ascend {

struct Device;

enum class CoreType : uint8_t { cube, vector, mix };  // which cores run the kernel: AIC; one AIV a block; AIC + 2 AIV
enum class Mode : uint8_t { full, functional, timing };

using KernelEntry = void (*)(const uint8_t* args);

struct Kernel {
    const char* name;
    CoreType type;
    KernelEntry entry;
    // No instruction, address or branch depends on the values of tensors: timing mode may skip payloads.
    bool data_independent = false;
    // Each address is the target of atomic stores of one block only: they need not be kept back.
    bool disjoint_atomics = false;
};

struct LaunchOptions {
    int blocks = 1;
    int stream = 0;
    std::string detail;   // shown behind the name in profiles, e.g. the chosen tile
    uint32_t ub_bytes = 0;  // of each vector core's UB, from its beginning, that the kernel may use; 0: the launch does not say
};

class Launch {
public:
    Launch(const Kernel& kernel, Device& device, const LaunchOptions& options, const uint8_t* args);

    void execute();  // phase 1; throws LaunchError
    LaunchTrace& trace() { return *trace_; }

    // Used by cores.
    uint32_t site_of(uint64_t return_address);
    uint64_t site_address(uint32_t site) const;
    bool skips_effects() const { return skips_effects_; }
    bool traces() const { return traces_; }
    bool runs_in_waves() const { return options_.blocks > resident_blocks_; }
    int blocks() const { return options_.blocks; }
    uint32_t ub_bytes() const { return options_.ub_bytes; }
    int resident_blocks() const { return resident_blocks_; }
    void arrive(Core& core, int id);
    bool all_arrived(const Core& core, int id, uint32_t generation) const;
    std::string describe_arrivals(const Core& core, int id) const;
    // Why the launch must end now: it has run too long, or was interrupted. Empty: it need not. Throws FiberCancelled if another
    // core has failed meanwhile.
    std::string reason_to_end() const;
    bool must_end() const noexcept;   // the same, or another core has failed; for the signal handler
    std::string title() const;
    Device& device() { return device_; }
    const Kernel& kernel() const { return kernel_; }
    bool buffers_atomics() const { return !kernel_.disjoint_atomics; }

private:
    friend class BlockRunner;
    struct Atomics {
        int block;
        std::vector<PendingAtomic> stores;
        std::vector<uint8_t> data;
    };

    int participants(const Core& core) const;
    void collect_atomics(AiCore& core);
    void apply_atomics();
    void worker();
    void declare_deadlock();

    const Kernel& kernel_;
    Device& device_;
    const LaunchOptions& options_;
    const uint8_t* args_;
    int ai_cores_;          // that take part
    int resident_blocks_;
    bool skips_effects_;
    bool traces_;
    std::shared_ptr<LaunchTrace> trace_;
    std::chrono::steady_clock::time_point deadline_;
    double time_limit_s_;
    bool has_deadline_;
    uint32_t interrupts_before_ = interrupts();

    mutable std::mutex mutex_;
    mutable std::mutex sites_mutex_;
    std::unordered_map<uint64_t, uint32_t> site_ids_;
    std::vector<Atomics> atomics_;
    std::atomic<uint64_t> arrivals_[2][kCrossIds] = {};
    std::atomic<uint64_t> epoch_{0};      // grid arrivals so far: what sleeping workers wait for
    std::atomic<int> next_ai_core_{0};
    int live_workers_ = 0;
    std::vector<std::vector<std::unique_ptr<class BlockRunner>>*> parked_;  // of workers asleep at the current epoch
    std::condition_variable_any* wake_ = nullptr;
    std::atomic<bool> given_up_{false};
    std::exception_ptr error_;
};

// Runs a kernel to its end on `device`: values, then time; adds to the stream's simulated clock and to open profiles.
void launch(const Kernel& kernel, Device& device, const LaunchOptions& options, const void* args);

// Process-wide switches (design: `ascend_sim.mode`, ASCEND_SIM_THREADS, DG_JIT_LAUNCH_TIMEOUT).
Mode mode();
void set_mode(Mode);
int host_threads();
void set_host_threads(int);     // 0: one per processor
void set_launch_timeout(double seconds);  // 0: none

}  // namespace ascend
