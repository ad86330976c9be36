// SPDX-License-Identifier: MIT
// What torch.profiler hears of the device: every kernel and every operator that ran on the host, with its simulated time.
#define USE_KINETO          // PyTorch was built with it; its headers ask
#define FMT_HEADER_ONLY     // Kineto's headers format text; the library behind them is not shipped
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <libkineto.h>
#include <output_base.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "chip/timeline.h"

namespace ascend::npu {
namespace {

// PyTorch says on which operator a thread is at work.
thread_local std::vector<uint64_t> correlations;

// From start to stop. Simulated time goes on a time axis of its own, which begins where the trace begins.
class Session final : public libkineto::IActivityProfilerSession {
public:
    ~Session() override { stop(); }

    void start() override {
        if (observer_ >= 0) return;
        status_ = libkineto::TraceStatus::RECORDING;
        observer_ = timeline().add_observer([this](const Span& span) {
            std::lock_guard lock(mutex_);
            seen_.push_back({span, correlations.empty() ? 0 : correlations.back()});
        });
    }
    void stop() override {
        if (observer_ < 0) return;
        timeline().remove_observer(observer_);
        observer_ = -1;
        status_ = libkineto::TraceStatus::PROCESSING;
    }

    std::vector<std::string> errors() override { return {}; }
    void processTrace(libkineto::ActivityLogger& logger) override { process(logger, nullptr, 0, 0); }
    void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked, int64_t begin_ns,
                      int64_t end_ns) override {
        process(logger, linked, begin_ns, end_ns);
    }
    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
        if (seen_.empty()) return nullptr;
        const int64_t device = seen_.front().span.device;
        return std::make_unique<libkineto::DeviceInfo>(
            libkineto::DeviceInfo{device, libkineto::kExceedMaxPid + device, "npu", "npu:" + std::to_string(device) + ", simulated time"});
    }
    std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

    void pushCorrelationId(uint64_t id) override { correlations.push_back(id); }
    void popCorrelationId() override {
        if (!correlations.empty()) correlations.pop_back();
    }

private:
    struct Seen {
        Span span;
        uint64_t correlation;
    };

    void process(libkineto::ActivityLogger& logger, const libkineto::getLinkedActivityCallback& linked, int64_t begin_ns, int64_t end_ns) {
        std::lock_guard lock(mutex_);
        buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer_->span = libkineto::TraceSpan(begin_ns, end_ns, "npu");
        buffer_->gpuOpCount = static_cast<int>(seen_.size());
        double origin_us = seen_.empty() ? 0 : seen_.front().span.start_us;
        for (const Seen& seen : seen_) origin_us = std::min(origin_us, seen.span.start_us);
        for (const Seen& seen : seen_) {
            buffer_->emplace_activity(buffer_->span, libkineto::ActivityType::CONCURRENT_KERNEL, seen.span.name);
            libkineto::GenericTraceActivity& activity = *buffer_->activities.back();
            activity.startTime = begin_ns + static_cast<int64_t>((seen.span.start_us - origin_us) * 1e3);
            activity.endTime = activity.startTime + static_cast<int64_t>(seen.span.duration_us * 1e3 + 0.5);
            activity.device = seen.span.device;
            activity.resource = static_cast<int32_t>(seen.span.stream);
            activity.id = static_cast<int32_t>(seen.correlation);
            if (linked && seen.correlation) activity.linked = linked(static_cast<int32_t>(seen.correlation));
            activity.addMetadata("bytes", seen.span.bytes);
            activity.addMetadata("simulated start us", seen.span.start_us);
            activity.addMetadataQuoted("time", seen.span.is_estimate ? "estimated" : "replayed");
            logger.handleGenericActivity(activity);
        }
    }

    std::mutex mutex_;
    std::vector<Seen> seen_;
    int observer_ = -1;
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class ActivityProfiler final : public libkineto::IActivityProfiler {
public:
    const std::string& name() const override {
        static const std::string npu = "npu";
        return npu;
    }
    const std::set<libkineto::ActivityType>& availableActivities() const override {
        static const std::set<libkineto::ActivityType> kernels = {libkineto::ActivityType::CONCURRENT_KERNEL};
        return kernels;
    }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<libkineto::ActivityType>& wanted,
                                                                   const libkineto::Config&) override {
        if (!wanted.count(libkineto::ActivityType::CONCURRENT_KERNEL)) return nullptr;
        return std::make_unique<Session>();
    }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t, int64_t, const std::set<libkineto::ActivityType>& wanted,
                                                                   const libkineto::Config& config) override {
        return configure(wanted, config);
    }
};

REGISTER_PRIVATEUSE1_PROFILER(ActivityProfiler);

}  // namespace
}  // namespace ascend::npu
