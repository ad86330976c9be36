// SPDX-License-Identifier: MIT
// How is a tensor set to zero? Small ones by the CPU's kernel; large ones by giving their pages back to the host, which reads
// them as zero again when they are next touched. Benchmarks clear hundreds of megabytes between two launches to cool the L2,
// and never look at them: that then costs microseconds of the host instead of tens of milliseconds a launch.
#include <ATen/core/Tensor.h>
#include <ATen/ops/zero_ops.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <cstring>

#include "chip/device.h"
#include "chip/spec.h"
#include "torch/cpu_views.h"
#include "torch/devices.h"
#include "torch/estimate.h"

namespace ascend::npu {
namespace {

constexpr c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU);
constexpr uint64_t kLargeBytes = 32 << 20;

// Whether the pages read as zero now; memory that several processes share keeps its content.
bool give_back(uint8_t* begin, uint64_t bytes) {
    if (madvise(begin, bytes, MADV_DONTNEED)) return false;
    return *static_cast<volatile uint8_t*>(begin) == 0;
}

void zero_bytes(uint8_t* begin, uint64_t bytes) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t address = reinterpret_cast<uint64_t>(begin);
    const uint64_t first = (address + page - 1) / page * page, last = (address + bytes) / page * page;
    auto* pages = reinterpret_cast<uint8_t*>(first);
    *pages = 1;     // what give_back looks for
    if (!give_back(pages, last - first)) {
        std::memset(begin, 0, bytes);
        return;
    }
    std::memset(begin, 0, first - address);
    std::memset(reinterpret_cast<void*>(last), 0, address + bytes - last);
}

at::Tensor& zero_(at::Tensor& self) {
    const int index = index_of(self.device());
    const uint64_t bytes = bytes_of(self);
    if (bytes >= kLargeBytes && self.is_non_overlapping_and_dense()) {
        zero_bytes(static_cast<uint8_t*>(self.data_ptr()), bytes);
    } else {
        CpuViews views(index);
        at::Tensor view = views.view(self);
        at::_ops::zero_::redispatch(kCpuKeys, view);
    }
    charge("aten::zero_", index, {.bytes = bytes});
    Device& on = device(index);
    if (static_cast<double>(bytes) >= chip_spec().l2_capacity_bytes) {      // nothing else can still be in there
        std::lock_guard lock(on.replay_mutex);
        on.l2.flush();
    }
    return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) { library.impl("zero_", &zero_); }

}  // namespace
}  // namespace ascend::npu
