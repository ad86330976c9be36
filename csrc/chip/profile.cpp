// SPDX-License-Identifier: MIT
// From the times of a replay to what a reader wants: sums per pipe, bytes, a timeline.
#include "chip/profile.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "chip/device.h"
#include "chip/fault.h"
#include "chip/launch.h"
#include "chip/launch_log.h"
#include "chip/profile_text.h"
#include "chip/timeline.h"

namespace ascend {

namespace {

struct Profile {
    bool is_open = true, keeps_timeline = false;
    size_t entries = 0;
    std::vector<LaunchProfile> launches;
    std::unique_ptr<LaunchLog> log;     // if there is one, launches go there instead
};

std::mutex profiles_mutex;
std::map<int, Profile>& profiles() {
    static auto* profiles = new std::map<int, Profile>;
    return *profiles;
}
std::atomic<int> open_profiles{0}, open_timelines{0};

Profile& profile_at(int handle) {
    const auto found = profiles().find(handle);
    if (found == profiles().end()) throw std::invalid_argument(format("there is no profile %d", handle));
    return found->second;
}

// Work charged by formula comes by way of the clock; kernels add themselves, with more to say.
void add_estimate(const Span& span) {
    if (!span.is_estimate) return;
    LaunchProfile launch;
    launch.name = span.name;
    launch.chip = chip_spec().name;
    launch.device = span.device;
    launch.stream = span.stream;
    launch.is_estimate = true;
    launch.start_us = span.start_us;
    launch.simulated_us = span.duration_us;
    launch.clock_hz = chip_spec().clock_hz;
    launch.total_cycles = span.duration_us * 1e-6 * launch.clock_hz;
    launch.gm_read_bytes = span.bytes;
    launch.flops = span.flops;
    profile_add(std::move(launch));
}

void add_use(const ReplayResult& result, LaunchProfile& launch) {
    for (const auto& ai_core : result.cores)
        for (int kind = 0; kind < 3; ++kind) {
            const CoreUse& use = ai_core[kind];
            if (use.records == 0) continue;
            const bool cube = kind == static_cast<int>(CoreKind::aic);
            ++(cube ? launch.aics : launch.aivs);
            launch.records += use.records;
            PipeTotals* totals = cube ? launch.aic : launch.aiv;
            for (int pipe = 0; pipe < kPipes; ++pipe) {
                totals[pipe].busy_cycles += use.pipe[pipe].busy_cycles;
                totals[pipe].wait_cycles += use.pipe[pipe].wait_cycles;
                totals[pipe].instructions += use.pipe[pipe].instructions;
            }
        }
}

void add_timeline(const LaunchTrace& trace, const ReplayResult& result, LaunchProfile& launch) {
    const double cycle_us = 1e6 / launch.clock_hz;
    for (size_t core = 0; core < result.times.size(); ++core)
        for (int kind = 0; kind < 3; ++kind) {
            const auto& times = result.times[core][kind];
            for (size_t i = 0; i < times.size(); ++i) {
                const Record& r = trace.ai_cores[core].of[kind][i];
                // Sets take no time; waits are shown if they did.
                if (r.path == Path::sync && !(times[i].end_cycles > times[i].start_cycles)) continue;
                launch.timeline.push_back({static_cast<int16_t>(core), static_cast<CoreKind>(kind), r.pipe, r.op,
                                           r.path, launch.launch_us + times[i].start_cycles * cycle_us,
                                           launch.launch_us + times[i].end_cycles * cycle_us, r.amount});
            }
        }
}

}  // namespace

// ---- open profiles --------------------------------------------------------------------------------------------------

int profile_begin(bool timeline) { return profile_begin_log("", timeline); }

int profile_begin_log(const std::string& folder, bool timeline) {
    std::lock_guard lock(profiles_mutex);
    static int last = 0;
    Profile& profile = profiles()[++last];
    profile.keeps_timeline = timeline;
    if (!folder.empty()) profile.log = std::make_unique<LaunchLog>(folder);
    if (open_profiles++ == 0) ascend::timeline().set_observer(add_estimate);
    open_timelines += timeline;
    return last;
}

void profile_end(int handle) {
    std::lock_guard lock(profiles_mutex);
    Profile& profile = profile_at(handle);
    if (!profile.is_open) return;
    profile.is_open = false;
    open_timelines -= profile.keeps_timeline;
    if (--open_profiles == 0) timeline().set_observer(nullptr);
}

void profile_forget(int handle) {
    profile_end(handle);
    std::lock_guard lock(profiles_mutex);
    profiles().erase(handle);
}

bool is_profiling() { return open_profiles > 0; }
bool profiling_keeps_timeline() { return open_timelines > 0; }

void profile_add(LaunchProfile launch) {
    std::lock_guard lock(profiles_mutex);
    for (auto& [handle, profile] : profiles()) {
        if (!profile.is_open) continue;
        if (profile.log && profile.log->starts_here()) profile.entries = 0;
        LaunchProfile kept = launch;
        if (!profile.keeps_timeline || profile.entries + kept.timeline.size() > kMaxTimelineEntries) {
            kept.timeline = {};
            kept.has_timeline = false;
        }
        profile.entries += kept.timeline.size();
        if (profile.log) profile.log->add(kept);
        else profile.launches.push_back(std::move(kept));
    }
}

std::string profile_json(int handle) {
    std::lock_guard lock(profiles_mutex);
    std::string out = "[";
    for (const LaunchProfile& launch : profile_at(handle).launches) {
        if (out.size() > 1) out += ",\n";
        out += launch_json(launch);
    }
    return out + "]";
}

void profile_write_chrome_trace(int handle, const std::string& path) {
    std::lock_guard lock(profiles_mutex);
    write_chrome_trace(profile_at(handle).launches, path);
}

// ---- launches -------------------------------------------------------------------------------------------------------

void profile_functional_launch(int device, const std::string& name, const std::string& detail) {
    if (!is_profiling()) return;
    LaunchProfile launch;
    launch.name = name;
    launch.detail = detail;
    launch.chip = chip_spec().name;
    launch.device = device;
    launch.is_timed = false;
    profile_add(std::move(launch));
}

void finish_launch(const LaunchTrace& trace, const Kernel& kernel, Device& device, const LaunchOptions& options,
                   std::chrono::steady_clock::time_point begin) {
    const ChipSpec& spec = chip_spec();
    ReplayOptions replay_options;
    replay_options.keep_times = profiling_keeps_timeline();
    const ReplayResult result = replay(trace, spec, device.l2, replay_options);
    if (!result.violations.empty()) {
        std::string message = format("%s on %s: flags are used wrongly; outputs may be written",
                                     kernel.name, spec.name.c_str());
        for (size_t i = 0; i < result.violations.size() && i < 10; ++i)
            message += "\n" + describe(result.violations[i], trace);
        if (result.violations.size() > 10) message += format("\n  and %zu more", result.violations.size() - 10);
        throw LaunchError(message);
    }
    Span span;
    span.name = kernel.name;
    span.device = device.index;
    span.stream = options.stream;
    span.duration_us = result.us;
    span.bytes = result.gm_read_bytes + result.gm_written_bytes;
    span.flops = 2 * result.macs;
    const double start_us = timeline().run(span, static_cast<int>(trace.ai_cores.size()));
    if (!is_profiling()) return;

    LaunchProfile launch;
    launch.name = kernel.name;
    launch.detail = options.detail;
    launch.chip = spec.name;
    launch.device = device.index;
    launch.stream = options.stream;
    launch.blocks = options.blocks;
    launch.start_us = start_us;
    launch.simulated_us = result.us;
    launch.launch_us = result.launch_us;
    launch.clock_hz = spec.clock_hz;
    launch.total_cycles = result.us * 1e-6 * spec.clock_hz;
    launch.gm_read_bytes = result.gm_read_bytes;
    launch.gm_written_bytes = result.gm_written_bytes;
    launch.l2_bytes = result.l2_bytes;
    launch.hbm_read_bytes = result.hbm_read_bytes;
    launch.hbm_written_bytes = result.hbm_written_bytes;
    launch.macs = result.macs;
    add_use(result, launch);
    launch.has_timeline = replay_options.keep_times;
    if (launch.has_timeline) add_timeline(trace, result, launch);
    launch.host_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    profile_add(std::move(launch));
}

}  // namespace ascend
