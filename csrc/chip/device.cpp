// SPDX-License-Identifier: MIT
// Which cards does this process have? Each is made when it is first used and lives as long as the process.
#include "chip/device.h"

#include <map>

namespace ascend {

Device::Device(int index) : index(index), hbm(ascend::hbm(index)) {}

Device& device(int index) {
    static std::mutex mutex;
    static auto* devices = new std::map<int, std::unique_ptr<Device>>;
    std::lock_guard lock(mutex);
    auto& slot = (*devices)[index];
    if (!slot) slot = std::make_unique<Device>(index);
    return *slot;
}

}  // namespace ascend
