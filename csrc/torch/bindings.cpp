// SPDX-License-Identifier: MIT
// The extension module ascend_sim._C: what ascend_sim/npu needs beyond PyTorch's own device interfaces.
#include "torch/bindings.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/pybind.h>

#include "chip/hbm.h"
#include "chip/timeline.h"
#include "torch/allocator.h"
#include "torch/devices.h"
#include "torch/estimate.h"
#include "torch/fallback.h"
#include "torch/generator.h"
#include "torch/memory_pool.h"
#include "torch/shared_memory.h"

namespace py = pybind11;

namespace ascend::npu {
namespace {

// Python's int before it is narrowed to PyTorch's 8 bits; negative: the current device.
int checked(int device) {
    TORCH_CHECK(device < device_count(), "npu: device index ", device, " does not exist; expected 0 to ", device_count() - 1);
    return device < 0 ? current_device() : device;
}

void bind_devices(py::module_& module) {
    // `ask` is Python code: it needs the interpreter's lock, and configure() must not hold anything meanwhile.
    module.def("set_configuration_source", [](py::function ask) {
        auto* const kept = new py::function(std::move(ask));    // outlives the interpreter's own clean-up
        set_configuration_source([kept] {
            const py::gil_scoped_acquire gil;
            (*kept)();
        });
    }, py::arg("ask"), "Says which function to call when a device is first needed; it must call configure().");
    module.def("configure", &configure, py::arg("device_count"), py::arg("hbm_bytes"));
    module.def("device_count", [] {
        const py::gil_scoped_release unlocked;
        return device_count();
    });
    module.def("is_in_bad_fork", &is_in_bad_fork);
    module.def("check_not_forked", &check_not_forked);
    module.def("set_sync_debug_mode", &set_sync_debug_mode, py::arg("mode"));
    module.def("sync_debug_mode", &sync_debug_mode);
    module.def("set_device", &set_current_device, py::arg("device"));
    module.def("current_device", &current_device);
}

void bind_memory_pools(py::module_& module) {
    py::class_<PluggableAllocator, std::shared_ptr<PluggableAllocator>>(module, "PluggableAllocator", "An allocator of two C functions.")
        .def(py::init([](uint64_t allocate, uint64_t free) {
            return std::make_shared<PluggableAllocator>(PluggableAllocator{reinterpret_cast<PluggableAllocator::Allocate>(allocate),
                                                                           reinterpret_cast<PluggableAllocator::Free>(free)});
        }), py::arg("allocate"), py::arg("free"));
    py::class_<MemoryPool, std::shared_ptr<MemoryPool>>(module, "MemoryPool", "Memory that is kept apart.")
        .def(py::init([](std::shared_ptr<PluggableAllocator> source) { return std::make_shared<MemoryPool>(std::move(source)); }), py::arg("source"))
        .def_property_readonly("id", &MemoryPool::id)
        .def("release", &MemoryPool::release)
        .def("blocks", [](const MemoryPool& pool) {
            py::list blocks;
            for (const auto& [p, block] : pool.blocks())
                blocks.append(py::make_tuple(reinterpret_cast<uint64_t>(p), block.device, block.size, block.is_live));
            return blocks;
        }, "(address, device, bytes, live) of every block.");
    module.def("begin_pool", [](int device, std::shared_ptr<MemoryPool> pool) { begin_pool(checked(device), std::move(pool)); },
               py::arg("device"), py::arg("pool"));
    module.def("end_pool", [](int device) { end_pool(checked(device)); }, py::arg("device"));
    module.def("change_current_allocator", &change_current_allocator, py::arg("allocator"));
    module.def("has_own_allocator", &has_own_allocator);
}

void bind_memory(py::module_& module) {
    module.def("memory_info", [](int device) {
        const Hbm& memory = hbm(checked(device));
        const uint64_t total = memory.capacity_bytes();
        return std::make_tuple(total - memory.statistics().reserved.current, total);
    }, py::arg("device"), "(free, total) bytes of emulated HBM.");
    module.def("set_memory_limit", [](int device, uint64_t bytes) {
        hbm(checked(device)).set_limit(bytes);
    }, py::arg("device"), py::arg("bytes"));
    module.def("memory_limit", [](int device) { return hbm(checked(device)).limit_bytes(); },
               py::arg("device"));
    module.def("memory_blocks", [](int device) {
        py::list blocks;
        for (const auto& [range, block] : hbm(checked(device)).blocks())
            blocks.append(py::make_tuple(range.begin, block.size, block.requested, block.is_live));
        return blocks;
    }, py::arg("device"), "(address, bytes, requested bytes, live) of every committed block.");
    module.def("allocation_of", [](uint64_t address) -> py::object {
        const void* p = reinterpret_cast<const void*>(address);
        const Hbm* owner = hbm_containing(p);
        Hbm::Range range;
        if (!owner || !owner->find(p, &range)) return py::none();
        return py::make_tuple(owner->device(), range.begin, range.end);
    }, py::arg("address"), "(device, begin, end) of the live allocation that holds an address, or None.");
    module.def("share_storage", [](const at::Tensor& npu) { return share_storage(npu); }, py::arg("tensor"),
               "Moves the tensor's storage into memory that other processes can map; returns a new descriptor of it.");
    module.def("open_shared", [](int descriptor, int64_t bytes, int device) { return open_shared(descriptor, bytes, checked(device)); },
               py::arg("descriptor"), py::arg("bytes"), py::arg("device"), "That memory as a uint8 tensor.");
    module.def("allocate", [](int device, size_t bytes) {
        return reinterpret_cast<uint64_t>(allocate_on(checked(device), bytes).release_context());
    }, py::arg("device"), py::arg("bytes"), "Raw memory; free() gives it back.");
    module.def("free", [](uint64_t address) {
        void* p = reinterpret_cast<void*>(address);
        if (free_pooled(p)) return;
        if (Hbm* owner = hbm_containing(p)) owner->free(p);
    }, py::arg("address"));
    bind_memory_pools(module);
}

void bind_time(py::module_& module) {
    module.def("now_us", [](int device, int64_t stream) { return timeline().now_us(checked(device), stream); }, py::arg("device"),
               py::arg("stream") = 0, "The simulated clock of a stream.");
    module.def("run_for_us", [](int device, int64_t stream, double duration_us) {
        return timeline().run(checked(device), stream, duration_us);
    }, py::arg("device"), py::arg("stream"), py::arg("duration_us"),
       "Occupies the device; returns the start, in simulated microseconds.");
    module.def("charge", [](const std::string& name, int device, uint64_t bytes) {
        charge(name.c_str(), checked(device), Work{.bytes = bytes});
    }, py::arg("name"), py::arg("device"), py::arg("bytes"), "An operator that ran on the host: launch + bytes / HBM rate.");
    module.def("elapsed_ms", [](uint64_t first, uint64_t second) {
        return elapsed_ms(reinterpret_cast<const void*>(first), reinterpret_cast<const void*>(second));
    }, py::arg("first"), py::arg("second"), "Simulated milliseconds between two recorded events, by event_id.");
    module.def("set_core_count", [](int cores) { timeline().set_core_count(cores); }, py::arg("cores"),
               "Of each device; kernels of two streams overlap only if together they need no more.");
    module.def("set_estimate_rates", [](double launch_us, double hbm_bytes_per_us, double b16, double b8, double fp32) {
        set_estimate_rates({launch_us, hbm_bytes_per_us, b16, b8, fp32});
    }, py::kw_only(), py::arg("launch_us"), py::arg("hbm_bytes_per_us"), py::arg("b16_flops_per_us"), py::arg("b8_flops_per_us"),
       py::arg("fp32_flops_per_us"), "What operators that run on the host are charged.");
}

void bind_random(py::module_& module) {
    module.def("default_generator", [](int device) {
        return py::reinterpret_steal<py::object>(
            THPGenerator_Wrap(default_generator(checked(device))));
    }, py::arg("device"));
    module.def("manual_seed_all", &seed_default_generators, py::arg("seed"), "Also of devices that are not in use yet.");
}

void bind_fallback(py::module_& module) {
    module.def("fallback_counts", &fallback_counts);
    module.def("reset_fallback_counts", &reset_fallback_counts);
}

}  // namespace
}  // namespace ascend::npu

PYBIND11_MODULE(_C, module) {
    module.doc() = "Native part of ascend_sim: the PyTorch device npu and the emulated chip.";
    ascend::npu::install_cpu_allocator();
    ascend::npu::bind_devices(module);
    ascend::npu::bind_memory(module);
    ascend::npu::bind_time(module);
    ascend::npu::bind_random(module);
    ascend::npu::bind_fallback(module);
    ascend::npu::bind_runtime(module);
    ascend::npu::bind_process_group(module);
}
