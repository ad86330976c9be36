// SPDX-License-Identifier: MIT
// Where do the chunks of a trace come from, and when do they go? They are kept for the next launch.
#include "chip/trace.h"

namespace ascend {

void CoreTrace::add_chunk() {
    if (spare_.empty()) {
        chunks_.push_back(new Record[kChunk]);
    } else {
        chunks_.push_back(spare_.back());
        spare_.pop_back();
    }
    used_ = 0;
}

void CoreTrace::clear() {
    spare_.insert(spare_.end(), chunks_.begin(), chunks_.end());
    chunks_.clear();
    used_ = 0;
}

CoreTrace::~CoreTrace() {
    for (Record* chunk : chunks_) delete[] chunk;
    for (Record* chunk : spare_) delete[] chunk;
}

}  // namespace ascend
