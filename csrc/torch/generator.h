// SPDX-License-Identifier: MIT
// The random generator of an npu device.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

namespace ascend::npu {

// A CPU generator under an npu device: random operators run their CPU kernels on `host()` itself, so a seed gives the same
// numbers on npu as on the CPU, bit for bit, and no state is ever copied.
class Generator final : public c10::GeneratorImpl {
public:
    explicit Generator(int device);
    Generator(int device, at::Generator host);

    at::Generator& host() { return host_; }

    void set_current_seed(uint64_t seed) override { host_.set_current_seed(seed); }
    uint64_t current_seed() const override { return host_.current_seed(); }
    uint64_t seed() override { return host_.seed(); }
    // The host generator has no such thing; pickling asks for it and puts it back.
    void set_offset(uint64_t offset) override {
        TORCH_CHECK(offset == 0, "npu: Generator.set_offset: offset is ", offset, "; expected 0, the only one that generators of this device have");
    }
    uint64_t get_offset() const override { return 0; }
    void set_state(const c10::TensorImpl& state) override;
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

private:
    Generator* clone_impl() const override;
    at::Generator host_;
};

const at::Generator& default_generator(int device);
at::Generator new_generator(int device);
// Those that exist and those still to be made.
void seed_default_generators(uint64_t seed);

// For kernels that draw from the CPU's default generator because their signature has none (native_dropout): while this lives,
// that generator continues the device's sequence. Other threads must not draw from the CPU's meanwhile.
class BorrowedCpuGenerator {
public:
    explicit BorrowedCpuGenerator(Generator& owner);
    ~BorrowedCpuGenerator();
    BorrowedCpuGenerator(const BorrowedCpuGenerator&) = delete;
    BorrowedCpuGenerator& operator=(const BorrowedCpuGenerator&) = delete;

private:
    void exchange();
    at::CPUGeneratorImpl& ours_;
};

}  // namespace ascend::npu
