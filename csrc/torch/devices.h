// SPDX-License-Identifier: MIT
// Which npu devices and streams exist, and which are current in this thread.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>

namespace ascend::npu {

inline constexpr c10::DeviceType kNpu = c10::DeviceType::PrivateUse1;

// The number of devices and their memory come from ascend_sim/config.py, which is asked when a device is first needed, not at
// import. `ask` must end in a call of configure(); it is called without locks, possibly by several threads.
void set_configuration_source(std::function<void()> ask);
void configure(int device_count, uint64_t hbm_bytes);
void ensure_configured();

// Raises in a process that was forked after its parent had used a device: threads and memory of the emulator are the parent's.
void check_not_forked();
bool is_in_bad_fork();

// torch.npu.set_sync_debug_mode: 0 nothing, 1 a warning, 2 an error whenever the host waits for the device in an operator.
void set_sync_debug_mode(int mode);
int sync_debug_mode();
void note_synchronization(const char* what);

int device_count();
int current_device();
void set_current_device(int device);                // raises for an index that does not exist

// The index meant by `device`: -1 is the current one. PyTorch passes -1 freely; using it as an index corrupts the heap.
int index_of(c10::Device device);
int index_of(c10::DeviceIndex index);

c10::Stream current_stream(int device);
c10::Stream exchange_current_stream(c10::Stream stream);    // of the stream's device; returns the one before
c10::Stream new_stream(int device);

// Simulated milliseconds from one recorded event to another; events are c10's handles (torch.Event.event_id). guard.cpp
double elapsed_ms(const void* first, const void* second);

}  // namespace ascend::npu
