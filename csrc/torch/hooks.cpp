// SPDX-License-Identifier: MIT
// What PyTorch's core asks of the device outside operators.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "chip/hbm.h"
#include "torch/allocator.h"
#include "torch/devices.h"
#include "torch/generator.h"
#include "torch/host_memory.h"

namespace ascend::npu {
namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
public:
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return deviceCount() > 0; }
    void init() const override { ensure_configured(); }
    bool hasPrimaryContext(c10::DeviceIndex device) const override { return hbm_if_used(index_of(device)) != nullptr; }

    c10::DeviceIndex deviceCount() const override {
        try {
            return static_cast<c10::DeviceIndex>(device_count());
        } catch (...) {     // asked by torch.accelerator.is_available, which may not raise
            return 0;
        }
    }
    c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(current_device()); }
    void setCurrentDevice(c10::DeviceIndex device) const override { set_current_device(index_of(device)); }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
        const int before = current_device();
        set_current_device(index_of(device));
        return static_cast<c10::DeviceIndex>(before);
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
        return device < 0 ? getCurrentDevice() : exchangeDevice(device);
    }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
        return default_generator(index_of(device));
    }
    at::Generator getNewGenerator(c10::DeviceIndex device) const override { return new_generator(index_of(device)); }

    bool isPinnedPtr(const void* p) const override { return is_pinned(p); }
    c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
    at::Device getDeviceFromPtr(void* p) const override {
        const Hbm* owner = hbm_containing(p);
        TORCH_CHECK(owner, "npu: ", p, " is not an address in the memory of an npu device");
        return at::Device(kNpu, static_cast<c10::DeviceIndex>(owner->device()));
    }
    void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
        resize_storage(*storage.unsafeGetStorageImpl(), bytes);
    }
};

const bool registered = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks);   // PyTorch keeps it for the life of the process
    return true;
}();

}  // namespace
}  // namespace ascend::npu
