// SPDX-License-Identifier: MIT
// Launches as lines in files, written one by one.
#include "chip/launch_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace ascend {
namespace {

bool write_all(int descriptor, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        done += static_cast<size_t>(written);
    }
    return true;
}

int open_for_lines(const std::string& path) { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); }

}  // namespace

LaunchLog::~LaunchLog() { close_files(); }

void LaunchLog::close_files() {
    for (int* descriptor : {&launches_, &events_}) {
        if (*descriptor >= 0) ::close(*descriptor);
        *descriptor = -1;
    }
}

bool LaunchLog::starts_here() {
    if (owner_ == ::getpid()) return false;
    close_files();
    owner_ = ::getpid();
    launch_events_ = 0;
    text_ = {};
    const std::string path = folder_ + "/" + std::to_string(owner_);
    launches_ = open_for_lines(path + ".launches");
    events_ = open_for_lines(path + ".events");
    return true;
}

void LaunchLog::add(const LaunchProfile& launch) {
    if (launches_ < 0) return;
    bool is_written = write_all(launches_, launch_json(launch) + "\n");
    if (launch.is_timed && events_ >= 0 && launch_events_ < kMaxLaunchEvents) {
        ++launch_events_;
        std::string events;
        text_.add(launch, [&](const std::string& event) { (events += event) += '\n'; });
        is_written &= write_all(events_, events);
    }
    if (!is_written) close_files();
}

}  // namespace ascend
