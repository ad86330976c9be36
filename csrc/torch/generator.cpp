// SPDX-License-Identifier: MIT
// How npu generators wrap CPU generators.
#include "torch/generator.h"

#include <array>

#include "torch/devices.h"

namespace ascend::npu {
namespace {

c10::Device device_of(int index) { return c10::Device(kNpu, static_cast<c10::DeviceIndex>(index)); }

}  // namespace

Generator::Generator(int device) : Generator(device, at::detail::createCPUGenerator()) {}

Generator::Generator(int device, at::Generator host)
    : c10::GeneratorImpl(device_of(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), host_(std::move(host)) {}

void Generator::set_state(const c10::TensorImpl& state) { host_.unsafeGetGeneratorImpl()->set_state(state); }

c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const { return host_.unsafeGetGeneratorImpl()->get_state(); }

Generator* Generator::clone_impl() const { return new Generator(device().index(), host_.clone()); }

namespace {

struct Defaults {
    std::mutex mutex;
    std::array<at::Generator, 128> generators;
    uint64_t seed = c10::default_rng_seed_val;      // of those still to be made
};

Defaults& defaults() {
    static Defaults* const process_defaults = new Defaults;     // Python may still hold one when static destructors run
    return *process_defaults;
}

}  // namespace

const at::Generator& default_generator(int device) {
    std::lock_guard lock(defaults().mutex);
    at::Generator& found = defaults().generators[device];
    if (!found.defined()) {
        found = new_generator(device);
        found.set_current_seed(defaults().seed);
    }
    return found;
}

void seed_default_generators(uint64_t seed) {
    std::lock_guard lock(defaults().mutex);
    defaults().seed = seed;
    for (at::Generator& generator : defaults().generators)
        if (generator.defined()) {
            std::lock_guard generator_lock(generator.mutex());
            generator.set_current_seed(seed);
        }
}

at::Generator new_generator(int device) { return at::make_generator<Generator>(device); }

namespace {
std::mutex borrow_mutex;
}

BorrowedCpuGenerator::BorrowedCpuGenerator(Generator& owner) : ours_(*owner.host().get<at::CPUGeneratorImpl>()) { exchange(); }
BorrowedCpuGenerator::~BorrowedCpuGenerator() { exchange(); }

void BorrowedCpuGenerator::exchange() {
    std::lock_guard one_at_a_time(borrow_mutex);
    auto& theirs = *at::detail::getDefaultCPUGenerator().get<at::CPUGeneratorImpl>();
    std::scoped_lock lock(ours_.mutex_, theirs.mutex_);
    const auto engine = ours_.engine();
    const auto next_float = ours_.next_float_normal_sample();
    const auto next_double = ours_.next_double_normal_sample();
    ours_.set_engine(theirs.engine());
    ours_.set_next_float_normal_sample(theirs.next_float_normal_sample());
    ours_.set_next_double_normal_sample(theirs.next_double_normal_sample());
    theirs.set_engine(engine);
    theirs.set_next_float_normal_sample(next_float);
    theirs.set_next_double_normal_sample(next_double);
}

}  // namespace ascend::npu
