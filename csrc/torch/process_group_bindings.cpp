// SPDX-License-Identifier: MIT
// The Python class of backend "hccl". Apart from the other bindings, because its base class only exists once torch.distributed does.
#include <torch/csrc/utils/pybind.h>

#include "torch/bindings.h"
#include "torch/process_group.h"

namespace ascend::npu {

void bind_process_group(py::module_& module) {
    // Called by ascend_sim/npu/distributed.py when torch.distributed has been imported.
    module.def("define_process_group", [](py::module_& into) {
        using Options = ProcessGroupHccl::Options;
        const py::module_ c10d = py::module_::import("torch._C._distributed_c10d");
        const py::object base = c10d.attr("Backend");
        auto group = py::class_<ProcessGroupHccl, c10::intrusive_ptr<ProcessGroupHccl>, c10d::Backend>(
            into, "ProcessGroupHCCL", "Collectives of npu tensors, on Gloo.");
        py::class_<Options, c10::intrusive_ptr<Options>, c10d::Backend::Options>(
            group, "Options", py::dynamic_attr(), "Kept for code that sets them; none changes anything here.")
            .def(py::init<bool>(), py::arg("is_high_priority_stream") = false)
            .def_readwrite("is_high_priority_stream", &Options::is_high_priority_stream);
        group
            .def(py::init([](const c10::intrusive_ptr<c10d::Backend>& gloo, const c10::intrusive_ptr<Options>& options) {
                auto made = c10::make_intrusive<ProcessGroupHccl>(gloo);
                if (options) made->set_options(options);
                return made;
            }), py::arg("gloo"), py::arg("options") = py::none(), py::call_guard<py::gil_scoped_release>())
            .def_property_readonly("options", [](ProcessGroupHccl& self) { return self.getBackendOptions(); });
    }, py::arg("module"));
}

}  // namespace ascend::npu
