// SPDX-License-Identifier: MIT
// What torch.distributed runs collectives of npu tensors on: Gloo, on the same bytes.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace ascend::npu {

// Backend "hccl". Every call hands Gloo CPU tensors on the bytes of the npu tensors and runs on a communication stream of simulated
// time: it begins when the current stream gets there, and Work::wait makes the current stream wait for its end.
class ProcessGroupHccl final : public c10d::Backend {
public:
    // Kept for code that sets them; none changes anything here.
    struct Options final : c10d::Backend::Options {
        explicit Options(bool is_high_priority_stream)
            : c10d::Backend::Options("hccl"), is_high_priority_stream(is_high_priority_stream) {}
        bool is_high_priority_stream;
    };

    explicit ProcessGroupHccl(c10::intrusive_ptr<c10d::Backend> gloo);

    const std::string getBackendName() const override { return "hccl"; }
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override { return options_; }
    void set_options(c10::intrusive_ptr<Options> options) { options_ = std::move(options); }
    void setTimeout(std::chrono::milliseconds timeout) override { gloo_->setTimeout(timeout); }
    c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }

    using Tensors = std::vector<at::Tensor>;
    using Work = c10::intrusive_ptr<c10d::Work>;
    Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
    Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    Work allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
    Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
    Work allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Work _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
    Work allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Work gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
    Work scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
    Work reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override;
    Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) override;
    Work reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override;
    Work alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                       std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override;
    Work alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
    Work send(Tensors& tensors, int to, int tag) override;
    Work recv(Tensors& tensors, int from, int tag) override;
    Work recvAnysource(Tensors& tensors, int tag) override;
    Work barrier(const c10d::BarrierOptions& options) override;
    void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override {
        gloo_->monitoredBarrier(options, wait_all_ranks);
    }
    void setSequenceNumberForGroup() override { gloo_->setSequenceNumberForGroup(); }
    uint64_t getSequenceNumberForGroup() override { return gloo_->getSequenceNumberForGroup(); }

private:
    double ring(uint64_t bytes) const;

    const c10::intrusive_ptr<c10d::Backend> gloo_;
    c10::intrusive_ptr<Options> options_;
};

}  // namespace ascend::npu
