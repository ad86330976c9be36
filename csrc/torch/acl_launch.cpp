// SPDX-License-Identifier: MIT
// How does a launch through libascendcl.so, which must not link PyTorch, find the current device and an ongoing capture?
// By two C functions whose addresses it is handed (csrc/toolkit/acl.h).
#include <cstring>
#include <string>

#include "chip/device.h"
#include "chip/launch.h"
#include "toolkit/acl.h"
#include "torch/devices.h"
#include "torch/graph.h"

namespace {

using namespace ascend;

void run(const std::string& name, CoreType cores, KernelEntry entry, bool data_independent, int on, int blocks, uint32_t ub_bytes,
         int64_t stream, const void* args) {
    const Kernel kernel{name.c_str(), cores, entry, data_independent, false};
    launch(kernel, device(on), {blocks, static_cast<int>(stream), {}, ub_bytes}, args);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int ascend_sim_current_device() { return npu::current_device(); }

__attribute__((visibility("default"))) int ascend_sim_launch_here(const char* name, int core_type, void* entry,
                                                                  int data_independent, uint32_t blocks, uint32_t ub_bytes, void* stream,
                                                                  const void* args, size_t args_bytes, char* error,
                                                                  size_t error_bytes) {
    try {
        npu::check_not_forked();
        const int on = npu::current_device();
        const auto stream_id = static_cast<int64_t>(reinterpret_cast<intptr_t>(stream));
        const auto cores = static_cast<CoreType>(core_type);
        const auto function = reinterpret_cast<KernelEntry>(entry);
        if (npu::Recording* recording = npu::recording_of(on, stream_id)) {
            const std::string block(static_cast<const char*>(args), args_bytes);
            recording->node(name, [=, name = std::string(name)] {
                run(name, cores, function, data_independent != 0, on, static_cast<int>(blocks), ub_bytes, npu::current_stream(on).id(), block.data());
            });
            return 0;
        }
        run(name, cores, function, data_independent != 0, on, static_cast<int>(blocks), ub_bytes, stream_id, args);
        return 0;
    } catch (const std::exception& failure) {
        std::strncpy(error, failure.what(), error_bytes - 1);
        error[error_bytes - 1] = 0;
        return 1;
    }
}

}  // extern "C"
