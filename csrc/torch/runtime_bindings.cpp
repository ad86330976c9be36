// SPDX-License-Identifier: MIT
// What Python says to the chip itself: launches, modes, profiles, host settings.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "chip/core_limit.h"
#include "chip/device.h"
#include "chip/interrupt.h"
#include "chip/kernel_registry.h"
#include "chip/launch.h"
#include "chip/profile.h"
#include "chip/races.h"
#include "chip/spec.h"
#include "chip/timeline.h"
#include "chip/trap.h"
#include "host/host.h"
#include "torch/bindings.h"
#include "torch/devices.h"
#include "torch/graph.h"

namespace py = pybind11;

namespace ascend::npu {
namespace {

Fields fields_of(const py::dict& values) {
    Fields fields;
    for (const auto& [key, value] : values) {
        const auto name = key.cast<std::string>();
        if (PyFloat_Check(value.ptr()))
            fields.reals[name] = value.cast<double>();
        else if (PyLong_Check(value.ptr()))
            fields.integers[name] = value.cast<int64_t>();
        else
            throw py::type_error("launch: field '" + name + "' is neither int nor float");
    }
    return fields;
}

// Of a device (stream -1) or of one of its streams, by set_device_limit and set_stream_limit.
std::mutex limits_mutex;
std::map<std::pair<int, int64_t>, int> core_limits;

void set_core_limit(int device_index, int64_t stream, int cores) {
    std::lock_guard lock(limits_mutex);
    if (cores > 0) core_limits[{device_index, stream}] = cores;
    else core_limits.erase({device_index, stream});
}

int core_limit(int device_index, int64_t stream) {
    std::lock_guard lock(limits_mutex);
    int cores = chip_spec().cores;
    if (core_limits.empty()) return cores;
    for (const int64_t of : {int64_t{-1}, stream})
        if (const auto found = core_limits.find({device_index, of}); found != core_limits.end()) cores = std::min(cores, found->second);
    return cores;
}

void launch_by_name(const std::string& kernel, int device_index, int64_t stream, const py::dict& values) {
    check_not_forked();
    const HostFunction run = find_kernel(kernel);
    const Fields fields = fields_of(values);
    if (Recording* recording = recording_of(device_index, stream)) {
        recording->node(kernel, [run, fields, device_index] {
            const int64_t stream_now = current_stream(device_index).id();
            const FewerCores limited(core_limit(device_index, stream_now));
            run(device(device_index), static_cast<int>(stream_now), fields);
        });
        return;
    }
    Device& on = device(device_index);
    py::gil_scoped_release unlocked;
    const FewerCores limited(core_limit(device_index, stream));
    run(on, static_cast<int>(stream), fields);
}

// A kernel compiled elsewhere, by the address of its entry; `args` is its packed argument block.
void launch_entry(uint64_t entry, const std::string& name, const std::string& cores, int device_index, int64_t stream,
                  int blocks, const std::string& args, bool data_independent, uint32_t ub_bytes) {
    check_not_forked();
    static const std::map<std::string, CoreType> types = {
        {"cube", CoreType::cube}, {"vector", CoreType::vector}, {"mix", CoreType::mix}};
    const auto type = types.find(cores);
    if (type == types.end())
        throw std::invalid_argument("launch_entry: cores '" + cores + "'; accepted: cube, vector, mix");
    if (Recording* recording = recording_of(device_index, stream)) {
        recording->node(name, [name, core = type->second, entry, data_independent, device_index, blocks, args, ub_bytes] {
            const Kernel kernel{name.c_str(), core, reinterpret_cast<KernelEntry>(entry), data_independent, false};
            const int64_t stream_now = current_stream(device_index).id();
            const FewerCores limited(core_limit(device_index, stream_now));
            launch(kernel, device(device_index), {blocks, static_cast<int>(stream_now), {}, ub_bytes}, args.data());
        });
        return;
    }
    const Kernel kernel{name.c_str(), type->second, reinterpret_cast<KernelEntry>(entry), data_independent, false};
    Device& on = device(device_index);
    py::gil_scoped_release unlocked;
    const FewerCores limited(core_limit(device_index, stream));
    launch(kernel, on, {blocks, static_cast<int>(stream), {}, ub_bytes}, args.data());
}

Mode mode_named(const std::string& name) {
    if (name == "full") return Mode::full;
    if (name == "functional") return Mode::functional;
    if (name == "timing") return Mode::timing;
    throw std::invalid_argument("set_mode: '" + name + "' is not a mode; accepted: full, functional, timing");
}

// Ctrl-C ends launches where it raises KeyboardInterrupt. A program with a handler of its own may want to finish its work.
bool raises_keyboard_interrupt() {
    const py::gil_scoped_acquire locked;
    const py::module_ signals = py::module_::import("signal");
    return signals.attr("getsignal")(signals.attr("SIGINT")).is(signals.attr("default_int_handler"));
}

// LaunchError of the chip is ascend_sim.LaunchError in Python. If an interrupt caused it, it is the cause of the KeyboardInterrupt.
void translate(std::exception_ptr error) {
    try {
        if (error) std::rethrow_exception(error);
    } catch (const LaunchError& launch_error) {
        const py::object type = py::module_::import("ascend_sim.errors").attr("LaunchError");
        const py::object raised = type(launch_error.what());
        if (PyErr_CheckSignals() != 0) {
            py::error_already_set interrupt;
            if (interrupt.value()) PyException_SetCause(interrupt.value().ptr(), py::object(raised).release().ptr());
            interrupt.restore();
            return;
        }
        PyErr_SetObject(type.ptr(), raised.ptr());
    }
}

}  // namespace

void bind_runtime(py::module_& module) {
    py::register_exception_translator(translate);
    set_ask_interrupt(raises_keyboard_interrupt);

    // Launches.
    module.def("launch", launch_by_name, py::arg("kernel"), py::arg("device"), py::arg("stream"), py::arg("fields"));
    module.def("launch_entry", [](uint64_t entry, const std::string& name, const std::string& cores, int device_index,
                                  int64_t stream, int blocks, const py::bytes& args, bool data_independent, uint32_t ub_bytes) {
        launch_entry(entry, name, cores, device_index, stream, blocks, std::string(args), data_independent, ub_bytes);
    }, py::arg("entry"), py::arg("name"), py::arg("cores"), py::arg("device"), py::arg("stream"), py::arg("blocks"),
       py::arg("args"), py::arg("data_independent") = false, py::arg("ub_bytes") = 0);
    module.def("kernel_names", kernel_names);

    // Graphs; capture and replay themselves go through torch.accelerator.Graph.
    module.def("is_capturing", [](int index) { return is_capturing(index, current_stream(index).id()); }, py::arg("device"));
    module.def("capture_call", [](const std::string& name, int index, py::function call) {
        Recording* recording = recording_here(index);
        if (!recording) return false;
        const std::shared_ptr<py::function> kept(new py::function(std::move(call)), [](py::function* last) {
            const py::gil_scoped_acquire gil;
            delete last;
        });
        recording->node(name, [kept] {
            const py::gil_scoped_acquire gil;
            (*kept)();
        });
        return true;
    }, py::arg("name"), py::arg("device"), py::arg("call"),
       "If this thread's stream is being captured: notes that replays call `call`, and returns True without calling it.");
    module.def("new_graph_pool_id", [] {
        const auto id = new_pool_id();
        return std::make_tuple(id.first, id.second);
    });
    module.def("begin_group", begin_group, py::arg("device"), py::arg("stream"));
    module.def("end_group", end_group, py::arg("device"), py::arg("stream"));
    module.def("begin_update", begin_update, py::arg("device"), py::arg("stream"), py::arg("group"));
    module.def("end_update", end_update, py::arg("device"), py::arg("stream"));

    module.def("set_core_limit", set_core_limit, py::arg("device"), py::arg("stream"), py::arg("cores"),
               "Of the launches on a stream, -1: on the device; 0 cores: no limit.");
    module.def("core_limit", core_limit, py::arg("device"), py::arg("stream"));

    // Modes.
    module.def("set_mode", [](const std::string& name) {
        const Mode chosen = mode_named(name);
        set_mode(chosen);
        timeline().set_enabled(chosen != Mode::functional);
    }, py::arg("mode"));
    module.def("mode", [] {
        static const char* const names[] = {"full", "functional", "timing"};
        return names[static_cast<int>(mode())];
    });

    // Profiles: kept by handle, read as one JSON array (csrc/chip/profile.h); ascend_sim.profiler is the front end.
    module.def("profile_begin", profile_begin, py::arg("timeline") = false);
    module.def("profile_begin_log", profile_begin_log, py::arg("folder"), py::arg("timeline") = false);
    module.def("profile_end", profile_end, py::arg("handle"));
    module.def("profile_json", profile_json, py::arg("handle"));
    module.def("profile_write_chrome_trace", profile_write_chrome_trace, py::arg("handle"), py::arg("path"));
    module.def("profile_forget", profile_forget, py::arg("handle"));

    // Chip and host settings.
    module.def("flush_l2", [](int index) {
        Device& on = device(index);
        std::lock_guard lock(on.replay_mutex);
        on.l2.flush();
    }, py::arg("device"));
    module.def("set_chip", [](const std::string& name, const std::map<std::string, double>& values) {
        set_chip_spec(make_chip_spec(name, values));
    }, py::arg("name"), py::arg("values"));
    module.def("chip", [] { return chip_spec().name; });
    module.def("set_threads", set_host_threads, py::arg("count"));
    module.def("set_launch_timeout", set_launch_timeout, py::arg("seconds"));
    module.def("set_division_check", set_division_check, py::arg("on"));
    module.def("set_race_check", RaceCheck::switch_on, py::arg("on"));
    module.def("set_host_isa", [](const std::string& name) {
        std::string reason;
        if (!host::set_level(name.c_str(), &reason)) throw std::invalid_argument(reason);
    }, py::arg("name"));
    module.def("host_isa", [] { return std::string(host::level_name(host::level())); });
}

}  // namespace ascend::npu
