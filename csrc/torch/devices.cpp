// SPDX-License-Identifier: MIT
// How devices are counted and streams numbered.
#include "torch/devices.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <atomic>
#include <vector>

#include "chip/hbm.h"

namespace ascend::npu {
namespace {

constexpr int kMaxDevices = 127;                    // c10::DeviceIndex is signed and has 8 bits

std::function<void()> configuration_source;
std::atomic<int> configured_count{-1};              // -1: not asked yet
std::atomic<c10::StreamId> last_stream_id{0};       // 0 is every device's default stream

bool forked_after_use = false;                      // only ever written in a child that has one thread yet

bool a_device_is_used() {
    for (int device = 0; device < kMaxDevices; ++device)
        if (hbm_if_used(device)) return true;
    return false;
}

[[maybe_unused]] const int watches_forks = pthread_atfork(nullptr, nullptr, [] { forked_after_use |= a_device_is_used(); });

thread_local int thread_device = 0;
thread_local std::vector<c10::StreamId> thread_streams;     // by device; missing: 0

}  // namespace

void set_configuration_source(std::function<void()> ask) { configuration_source = std::move(ask); }

void configure(int device_count, uint64_t hbm_bytes) {
    TORCH_CHECK_VALUE(device_count >= 1 && device_count <= kMaxDevices, "npu: ", device_count,
                      " devices asked for (ASCEND_SIM_DEVICES, ASCEND_RT_VISIBLE_DEVICES); expected 1 to ", kMaxDevices);
    set_hbm_capacity(hbm_bytes);
    configured_count = device_count;
}

void ensure_configured() {
    if (configured_count.load(std::memory_order_acquire) >= 0) return;
    TORCH_CHECK(configuration_source, "npu: import ascend_sim before using the device");
    configuration_source();
}

bool is_in_bad_fork() { return forked_after_use; }

void check_not_forked() {
    TORCH_CHECK(!forked_after_use, "npu: this process was forked after its parent had used the device, so it cannot use the device. "
                "Fork before the first use, or start processes with torch.multiprocessing.get_context(\"spawn\").");
}

namespace {
std::atomic<int> debug_mode{0};
}

void set_sync_debug_mode(int mode) { debug_mode = mode; }
int sync_debug_mode() { return debug_mode; }

void note_synchronization(const char* what) {
    const int mode = debug_mode.load(std::memory_order_relaxed);
    if (mode == 0) [[likely]] return;
    TORCH_CHECK(mode == 1, "npu: ", what, " makes the host wait for the device (torch.npu.set_sync_debug_mode(\"error\"))");
    TORCH_WARN("npu: ", what, " makes the host wait for the device (torch.npu.set_sync_debug_mode(\"warn\"))");
}

int device_count() {
    ensure_configured();
    return configured_count.load(std::memory_order_relaxed);
}

int current_device() { return thread_device; }

void set_current_device(int device) {
    const int count = device_count();
    TORCH_CHECK(device >= 0 && device < count, "npu: device index ", device, " does not exist; expected 0 to ", count - 1,
                " (ASCEND_SIM_DEVICES, ASCEND_RT_VISIBLE_DEVICES)");
    thread_device = device;
}

int index_of(c10::DeviceIndex index) {
    if (index < 0) return thread_device;
    const int count = device_count();
    TORCH_CHECK(index < count, "npu: device index ", static_cast<int>(index), " does not exist; expected 0 to ", count - 1,
                " (ASCEND_SIM_DEVICES, ASCEND_RT_VISIBLE_DEVICES)");
    return index;
}

int index_of(c10::Device device) { return index_of(device.index()); }

c10::Stream current_stream(int device) {
    const auto i = static_cast<size_t>(device);
    const c10::StreamId id = i < thread_streams.size() ? thread_streams[i] : 0;
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNpu, static_cast<c10::DeviceIndex>(device)), id);
}

c10::Stream exchange_current_stream(c10::Stream stream) {
    const int device = index_of(stream.device());
    const c10::Stream before = current_stream(device);
    if (thread_streams.size() <= static_cast<size_t>(device)) thread_streams.resize(device + 1, 0);
    thread_streams[device] = stream.id();
    return before;
}

c10::Stream new_stream(int device) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNpu, static_cast<c10::DeviceIndex>(device)), ++last_stream_id);
}

}  // namespace ascend::npu
