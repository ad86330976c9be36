// SPDX-License-Identifier: MIT
// How simulated clocks advance.
#include "chip/timeline.h"

#include <algorithm>

namespace ascend {

Timeline::Device& Timeline::device_at(int device) {
    Device& found = devices_[device];
    if (found.core_free_us.size() != static_cast<size_t>(core_count_)) {
        const double busy_until = found.core_free_us.empty()
            ? 0 : *std::max_element(found.core_free_us.begin(), found.core_free_us.end());
        found.core_free_us.assign(core_count_, busy_until);
    }
    return found;
}

double Timeline::now_us(int device, int64_t stream) {
    std::lock_guard lock(mutex_);
    return std::max(device_at(device).stream_us[stream], host_us_);
}

double Timeline::run(int device, int64_t stream, double duration_us, int cores) {
    std::lock_guard lock(mutex_);
    Device& on = device_at(device);
    double& clock_us = on.stream_us[stream];
    if (!enabled_) return clock_us;
    if (cores == kNoCores) {
        const double start_us = std::max(clock_us, host_us_);
        clock_us = start_us + duration_us;
        return start_us;
    }
    const int wanted = cores > 0 ? std::min(cores, core_count_) : core_count_;
    std::sort(on.core_free_us.begin(), on.core_free_us.end());
    const double start_us = std::max({clock_us, host_us_, on.core_free_us[wanted - 1]});
    std::fill_n(on.core_free_us.begin(), wanted, start_us + duration_us);
    clock_us = start_us + duration_us;
    return start_us;
}

double Timeline::run(Span span, int cores) {
    span.start_us = run(span.device, span.stream, span.duration_us, cores);
    std::map<int, std::function<void(const Span&)>> observers;
    {
        std::lock_guard lock(mutex_);
        if (enabled_ && !observers_.empty()) observers = observers_;
    }
    for (const auto& [handle, observer] : observers) observer(span);
    return span.start_us;
}

void Timeline::wait(int device, int64_t stream, double until_us) {
    std::lock_guard lock(mutex_);
    double& clock_us = device_at(device).stream_us[stream];
    clock_us = std::max(clock_us, until_us);
}

void Timeline::host_waits_until(double time_us) {
    std::lock_guard lock(mutex_);
    host_us_ = std::max(host_us_, time_us);
}

void Timeline::host_waits_for(int device, int64_t stream) {
    std::lock_guard lock(mutex_);
    host_us_ = std::max(host_us_, device_at(device).stream_us[stream]);
}

void Timeline::host_waits_for(int device) {
    std::lock_guard lock(mutex_);
    for (const auto& [stream, clock_us] : device_at(device).stream_us) host_us_ = std::max(host_us_, clock_us);
}

void Timeline::set_core_count(int cores) {
    std::lock_guard lock(mutex_);
    core_count_ = std::max(cores, 1);
}

void Timeline::set_enabled(bool enabled) {
    std::lock_guard lock(mutex_);
    enabled_ = enabled;
}

bool Timeline::is_enabled() {
    std::lock_guard lock(mutex_);
    return enabled_;
}

void Timeline::set_observer(std::function<void(const Span&)> observer) {
    std::lock_guard lock(mutex_);
    if (observer) observers_[0] = std::move(observer);
    else observers_.erase(0);
}

int Timeline::add_observer(std::function<void(const Span&)> observer) {
    std::lock_guard lock(mutex_);
    observers_[++last_observer_] = std::move(observer);
    return last_observer_;
}

void Timeline::remove_observer(int handle) {
    std::lock_guard lock(mutex_);
    observers_.erase(handle);
}

bool Timeline::is_observed() {
    std::lock_guard lock(mutex_);
    return !observers_.empty();
}

Timeline& timeline() {
    static Timeline* const process_timeline = new Timeline;    // never destroyed: events may outlive static destructors
    return *process_timeline;
}

namespace {
std::mutex rates_mutex;
EstimateRates rates;
}  // namespace

EstimateRates estimate_rates() {
    std::lock_guard lock(rates_mutex);
    return rates;
}

void set_estimate_rates(const EstimateRates& new_rates) {
    std::lock_guard lock(rates_mutex);
    rates = new_rates;
}

}  // namespace ascend
