// SPDX-License-Identifier: MIT
// How is a launch written down? As a line of JSON, and as events of a timeline (Trace Event Format).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chip/profile.h"

namespace ascend {

// The fields of LaunchProfile but its timeline and clock. Numbers that are 0, empty texts and pipes that did nothing are left out.
std::string launch_json(const LaunchProfile& launch);

// A process per core, a thread per pipe; launches themselves on streams of the process of their device.
class TimelineText {
public:
    // Hands over each event of the launch, before it the names of what appears for the first time.
    void add(const LaunchProfile& launch, const std::function<void(const std::string&)>& event);

private:
    std::set<int> processes_;
    std::set<std::pair<int, int64_t>> streams_;
};

// Throws std::runtime_error if the file cannot be written.
void write_chrome_trace(const std::vector<LaunchProfile>& launches, const std::string& path);

}  // namespace ascend
