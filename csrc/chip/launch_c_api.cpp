// SPDX-License-Identifier: MIT
// How is a kernel launched that this library was not built with? By the address of its entry; for callers without C++.
#include <cstring>

#include "chip/device.h"
#include "chip/launch.h"

extern "C" {

// Runs `entry` (void(const uint8_t*), see isa/kernel_entry.h) on `blocks` blocks; core_type 0 cube, 1 vector, 2 mix.
// Returns 0, or 1 with the message in error[0 .. error_bytes).
int ascend_sim_launch(const char* name, int core_type, void* entry, int data_independent, int device, int stream,
                      int blocks, const void* args, char* error, size_t error_bytes) {
    try {
        const ascend::Kernel kernel{name, static_cast<ascend::CoreType>(core_type),
                                    reinterpret_cast<ascend::KernelEntry>(entry), data_independent != 0, false};
        ascend::launch(kernel, ascend::device(device), {blocks, stream, {}}, args);
        return 0;
    } catch (const std::exception& failure) {
        if (error && error_bytes) {
            std::strncpy(error, failure.what(), error_bytes - 1);
            error[error_bytes - 1] = 0;
        }
        return 1;
    }
}

}  // extern "C"
