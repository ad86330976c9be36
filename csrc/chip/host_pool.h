// SPDX-License-Identifier: MIT
// Where do launches get their host threads? One pool a process, started at the first launch that wants more than one.
#pragma once

#include <functional>

namespace ascend {

class HostPool {
public:
    static HostPool& instance();
    // Runs `job` on `count` threads at once, the caller's being one of them; returns when all have ended. `job` must not
    // throw. Launches of several threads take turns for the pool; a launch that needs one thread does not wait.
    void run(int count, const std::function<void()>& job);
};

}  // namespace ascend
