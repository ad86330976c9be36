// SPDX-License-Identifier: MIT
// What PyTorch may do with npu devices, streams and events. Execution is synchronous; events carry simulated time.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "chip/timeline.h"
#include "torch/devices.h"
#include "torch/graph.h"

namespace ascend::npu {
namespace {

// Numbers that ATen kernels of the device accept; quantized types need a dispatch key of their own.
c10::DeviceCapability capability() {
    c10::DeviceCapability all;
    auto& has = all.capability_data.supported_scalar_types;
    has.has_QInt8 = has.has_QUInt8 = has.has_QInt32 = has.has_QUInt4x2 = has.has_QUInt2x4 = 0;
    return all;
}

struct Event {
    c10::DeviceIndex device;
    double time_us;         // simulated
    bool has_time;          // false: recorded in functional mode
    bool is_captured;       // recorded on a stream while that was captured
};

class Guard final : public c10::impl::DeviceGuardImplInterface {
public:
    c10::DeviceType type() const override { return kNpu; }

    c10::Device getDevice() const override { return at(current_device()); }
    void setDevice(c10::Device device) const override { set_current_device(index_of(device)); }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        try {
            set_current_device(index_of(device));
        } catch (...) {     // by contract: called from destructors
        }
    }
    c10::Device exchangeDevice(c10::Device device) const override {
        const c10::Device before = getDevice();
        setDevice(device);
        return before;
    }
    c10::DeviceIndex deviceCount() const noexcept override {
        try {
            return static_cast<c10::DeviceIndex>(device_count());
        } catch (...) {     // by contract: no devices instead of an error; torch.npu.device_count() tells the reason
            return 0;
        }
    }
    c10::DeviceCapability getDeviceCapability(c10::Device) const override { return capability(); }

    c10::Stream getStream(c10::Device device) const override { return current_stream(index_of(device)); }
    c10::Stream getDefaultStream(c10::Device device) const override {
        return c10::Stream(c10::Stream::DEFAULT, at(index_of(device)));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return new_stream(index_of(device)); }
    c10::Stream getNewStream(c10::Device device, int) const override { return new_stream(index_of(device)); }
    c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_current_stream(stream); }
    void* getStreamNativeHandle(const c10::Stream stream) const override { return reinterpret_cast<void*>(stream.id()); }
    bool isStreamCapturing(const c10::Stream& stream) const override {
        return is_capturing(index_of(stream.device()), stream.id());
    }
    bool queryStream(const c10::Stream&) const override { return true; }
    void synchronizeStream(const c10::Stream& stream) const override {
        if (is_capturing(index_of(stream.device()), stream.id())) Recording::refuse("synchronize() of it");
        timeline().host_waits_for(index_of(stream.device()), stream.id());
    }
    void synchronizeDevice(const c10::DeviceIndex device) const override {
        if (recording_here(index_of(device))) Recording::refuse("synchronize() of its device");
        timeline().host_waits_for(index_of(device));
    }
    void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

    void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device_index,
                const c10::EventFlag) const override {
        const int device = index_of(stream.device());
        TORCH_CHECK(device_index < 0 || device_index == device, "npu: an event of device ", static_cast<int>(device_index),
                    " cannot be recorded on a stream of device ", device);
        if (!*event) *event = new Event{};
        auto& recorded = *static_cast<Event*>(*event);
        recorded.device = static_cast<c10::DeviceIndex>(device);
        recorded.has_time = timeline().is_enabled();
        recorded.time_us = timeline().now_us(device, stream.id());
        recorded.is_captured = is_capturing(device, stream.id());
    }
    void block(void* event, const c10::Stream& stream) const override {
        if (!event) return;
        if (static_cast<Event*>(event)->is_captured && may_be_capturing())
            return active_recording.load()->join(index_of(stream.device()), stream.id());
        timeline().wait(index_of(stream.device()), stream.id(), static_cast<Event*>(event)->time_us);
    }
    bool queryEvent(void*) const override { return true; }
    void synchronizeEvent(void* event) const override {
        if (event && static_cast<Event*>(event)->is_captured && may_be_capturing()) Recording::refuse("synchronize() of an event of it");
        if (event) timeline().host_waits_until(static_cast<Event*>(event)->time_us);
    }
    void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
    double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override { return elapsed_ms(first, second); }

private:
    static c10::Device at(int index) { return c10::Device(kNpu, static_cast<c10::DeviceIndex>(index)); }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

}  // namespace

double elapsed_ms(const void* first, const void* second) {
    const auto& from = *static_cast<const Event*>(first);
    const auto& to = *static_cast<const Event*>(second);
    TORCH_CHECK(from.has_time && to.has_time, "Event.elapsed_time: recorded in functional mode, which keeps no simulated "
                "time. ascend_sim.mode(\"full\") or ascend_sim.mode(\"timing\") does (ASCEND_SIM_MODE).");
    TORCH_CHECK(from.device == to.device, "Event.elapsed_time: the events were recorded on npu:",
                static_cast<int>(from.device), " and npu:", static_cast<int>(to.device), "; expected one device");
    return (to.time_us - from.time_us) / 1e3;
}

}  // namespace ascend::npu
