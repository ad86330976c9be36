// SPDX-License-Identifier: MIT
// How many AI cores may a launch have, if not all of the chip's?
#pragma once

#include <memory>

#include "chip/spec.h"

namespace ascend {

// While one is alive, launches of this thread find a chip with `cores` AI cores (at least 1; not more than there are).
class FewerCores {
public:
    explicit FewerCores(int cores);
    ~FewerCores();
    FewerCores(const FewerCores&) = delete;
    FewerCores& operator=(const FewerCores&) = delete;

private:
    std::unique_ptr<ChipSpec> spec_;
    const ChipSpec* before_;
};

}  // namespace ascend
