// SPDX-License-Identifier: MIT
// The formula for fallback operators, on the simulated timeline.
#include "torch/estimate.h"

#include <algorithm>
#include <mutex>

#include "chip/device.h"
#include "chip/spec.h"
#include "chip/timeline.h"
#include "torch/devices.h"
#include "torch/graph.h"

namespace ascend::npu {

uint64_t bytes_of(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return 0;
    return std::min<uint64_t>(static_cast<uint64_t>(tensor.numel()) * tensor.itemsize(), tensor.storage().nbytes());
}

double matmul_flops(const at::Tensor& a, const at::Tensor& b) {
    return 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.dim() >= 2 ? b.size(-1) : 1);
}

void charge(const char* name, int device, const Work& work) {
    const EstimateRates rates = estimate_rates();
    const double flops_per_us = work.flops_type == c10::ScalarType::BFloat16 || work.flops_type == c10::ScalarType::Half
                                    ? rates.b16_flops_per_us
                                : c10::elementSize(work.flops_type) == 1 ? rates.b8_flops_per_us
                                                                         : rates.fp32_flops_per_us;
    const double duration_us =
        rates.launch_us + static_cast<double>(work.bytes) / rates.hbm_bytes_per_us + work.flops / flops_per_us;
    const int64_t stream = current_stream(device).id();
    if (may_be_capturing() && is_capturing(device, stream)) return;      // charged at each replay
    if (static_cast<double>(work.bytes) >= chip_spec().l2_capacity_bytes) {     // nothing of before is left in the L2
        Device& on = ascend::device(device);
        std::lock_guard lock(on.replay_mutex);
        on.l2.flush();
    }
    if (timeline().is_observed())
        timeline().run(Span{.name = name, .device = device, .stream = stream, .duration_us = duration_us,
                            .bytes = work.bytes, .flops = work.flops, .is_estimate = true});
    else
        timeline().run(device, stream, duration_us);
}

}  // namespace ascend::npu
