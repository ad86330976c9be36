// SPDX-License-Identifier: MIT
// What is one emulated card? HBM, the state of its L2, and the right to be replayed one launch at a time.
#pragma once

#include <memory>
#include <mutex>

#include "chip/hbm.h"
#include "chip/l2.h"

namespace ascend {

struct Device {
    explicit Device(int index);
    const int index;
    Hbm& hbm;
    L2State l2;
    std::mutex replay_mutex;  // L2 and clock advance in launch order
};

Device& device(int index);  // created at first use; index < the number set by set_device_count

}  // namespace ascend
