// SPDX-License-Identifier: MIT
// Where do launches stay that must not fill memory, and must outlive a process that is killed? In two files of a folder.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "chip/profile_text.h"

namespace ascend {

// <pid>.launches has a line of JSON per launch (launch_json), <pid>.events a timeline event per line. A line is written as the launch ends,
// so whatever happens to the process later, it is there. A process forked from this one has files of its own.
// A disk that is full ends the log and disturbs nothing else.
class LaunchLog {
public:
    explicit LaunchLog(std::string folder) : folder_(std::move(folder)) {}
    ~LaunchLog();
    LaunchLog(const LaunchLog&) = delete;
    LaunchLog& operator=(const LaunchLog&) = delete;

    // True once in this process: what the parent counted is not this one's.
    bool starts_here();
    void add(const LaunchProfile& launch);

    static constexpr size_t kMaxLaunchEvents = 1'000'000;      // 150 MB; launches beyond are in .launches only

private:
    void close_files();

    std::string folder_;
    pid_t owner_ = 0;
    int launches_ = -1, events_ = -1;       // descriptors
    size_t launch_events_ = 0;
    TimelineText text_;
};

}  // namespace ascend
