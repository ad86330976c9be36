// SPDX-License-Identifier: MIT
// When, in simulated device time, each piece of work on a stream starts and ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ascend {

// One piece of work that occupied a device.
struct Span {
    std::string name;
    int device = 0;
    int64_t stream = 0;
    double start_us = 0, duration_us = 0;
    uint64_t bytes = 0;
    double flops = 0;
    bool is_estimate = false;       // charged by formula, not replayed from a trace
};

// The simulated clocks of a process, one per (device, stream), on one time base. Execution is synchronous, so a clock only ever
// moves when work is put on its stream or when it waits. The host is infinitely fast: what it does between two launches counts
// 0; but it has a clock too, which moves when it waits for a device, and nothing is submitted before that time. Works on one
// device share its cores: a kernel starts when its stream is ready and enough cores are free. Thread-safe.
class Timeline {
public:
    // When something submitted to the stream now would be reached: the end of its work, but not before the host's clock.
    double now_us(int device, int64_t stream);

    static constexpr int kNoCores = -1;     // links, not AI cores, do the work

    // Puts work of `duration_us` on the stream and returns its start. `cores` of the device are busy meanwhile; 0: all.
    double run(int device, int64_t stream, double duration_us, int cores = 0);
    // The same for work that is reported to the observer by this call; start_us is filled in.
    double run(Span span, int cores = 0);

    void wait(int device, int64_t stream, double until_us);     // the stream does not go on before `until_us`
    // The host waits: for an instant, a stream, everything on a device.
    void host_waits_until(double time_us);
    void host_waits_for(int device, int64_t stream);
    void host_waits_for(int device);

    // The number of AI cores per device; only works that use part of them can overlap.
    void set_core_count(int cores);
    // Functional mode keeps no time: run() returns at once, and events recorded meanwhile have no time.
    void set_enabled(bool enabled);
    bool is_enabled();
    // Called for every Span put on the timeline, by the thread that did, outside its lock; nullptr stops it.
    void set_observer(std::function<void(const Span&)> observer);
    // Further observers beside that one.
    int add_observer(std::function<void(const Span&)> observer);
    void remove_observer(int handle);
    bool is_observed();

private:
    struct Device {
        std::map<int64_t, double> stream_us;
        std::vector<double> core_free_us;
    };
    Device& device_at(int device);

    std::mutex mutex_;
    std::map<int, Device> devices_;
    double host_us_ = 0;
    int core_count_ = 32;
    bool enabled_ = true;
    std::map<int, std::function<void(const Span&)>> observers_;     // 0: that of set_observer
    int last_observer_ = 0;
};

Timeline& timeline();

// What an operator costs that runs on the host instead of as a kernel: launch + bytes / HBM rate, + FLOPs / cube rate for
// matrix products. An estimate, marked as such wherever it is shown.
struct EstimateRates {
    double launch_us = 1.589;           // empty kernel, 32 blocks (ascend950.md, "Launch and profiling")
    double hbm_bytes_per_us = 3.5e6;    // achievable, 950DT
    // Cube, per microsecond: 32 cores * MAC/cycle * 2 * 1.65 GHz; MAC/cycle 4096 (bf16, fp16), 8192 (8 bit), 256 (fp32).
    double b16_flops_per_us = 432.5e6;
    double b8_flops_per_us = 865.1e6;
    double fp32_flops_per_us = 27.0e6;
};
EstimateRates estimate_rates();
void set_estimate_rates(const EstimateRates& rates);

}  // namespace ascend
