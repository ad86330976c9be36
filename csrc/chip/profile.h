// SPDX-License-Identifier: MIT
// What did each launch of a profiled region cost? One record per launch, kept while a profile is open.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "chip/replay.h"

namespace ascend {

struct Device;
struct Kernel;
struct LaunchOptions;

// Sums over the cores of a kind that took part.
struct PipeTotals {
    double busy_cycles = 0, wait_cycles = 0;
    uint64_t instructions = 0;
};

struct TimelineEntry {
    int16_t ai_core;
    CoreKind core;
    Pipe pipe;
    uint16_t op;
    Path path;
    double start_us, end_us;       // simulated, from the start of the launch
    uint32_t amount;
};

struct LaunchProfile {
    std::string name, detail, chip;
    int device = 0;
    int64_t stream = 0;
    int blocks = 0, aics = 0, aivs = 0;
    bool is_estimate = false;      // charged by formula, not replayed from a trace
    bool is_timed = true;          // false: functional mode
    double start_us = 0;           // on the device's simulated clock
    double simulated_us = 0, launch_us = 0, host_us = 0;
    double clock_hz = 0;
    double total_cycles = 0;       // simulated_us * clock
    double flops = 0;              // of estimates; kernels have macs
    PipeTotals aic[kPipes], aiv[kPipes];
    uint64_t gm_read_bytes = 0, gm_written_bytes = 0, l2_bytes = 0, hbm_read_bytes = 0, hbm_written_bytes = 0;
    double macs = 0;
    uint64_t records = 0;
    std::vector<TimelineEntry> timeline;
    bool has_timeline = false;
};

// Entries kept per profile, 80 MB; launches beyond have sums only.
constexpr size_t kMaxTimelineEntries = 2'000'000;

// A profile collects the launches between begin and end; several may be open, each gets every launch. It is
// kept until forgotten, so that its timeline can still be written. With `timeline` launches also keep the
// times of every record.
int profile_begin(bool timeline);
// Launches go to files of that folder as they end (csrc/chip/launch_log.h) and are not kept.
int profile_begin_log(const std::string& folder, bool timeline);
void profile_end(int handle);
void profile_forget(int handle);
bool is_profiling();
bool profiling_keeps_timeline();
void profile_add(LaunchProfile);

// The launches as a JSON array of launch_json's objects (csrc/chip/profile_text.h).
std::string profile_json(int handle);
// Trace Event Format for Perfetto: a process per core, a thread per pipe. Throws std::runtime_error if it
// cannot write.
void profile_write_chrome_trace(int handle, const std::string& path);

// A launch in functional mode: it has no time.
void profile_functional_launch(int device, const std::string& name, const std::string& detail);

// Phase 2 of a launch: replay, clock, profile. Throws LaunchError if the replay finds a violation.
void finish_launch(const LaunchTrace& trace, const Kernel& kernel, Device& device, const LaunchOptions& options,
                   std::chrono::steady_clock::time_point begin);

}  // namespace ascend
