// SPDX-License-Identifier: MIT
// How a collective of npu tensors becomes one of Gloo's, and what simulated time it takes.
#include "torch/process_group.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "chip/timeline.h"
#include "torch/devices.h"
#include "torch/estimate.h"
#include "torch/graph.h"

namespace ascend::npu {
namespace {

using at::Tensor;
using Tensors = ProcessGroupHccl::Tensors;

// Eight ports of 400 Gbit/s a card (UBL128), each way; ranks of one group share nothing of them.
constexpr double kLinkBytesPerUs = 0.4e6;
constexpr int64_t kCommunicationStream = -1;    // of simulated time, one a device; PyTorch's streams count from 0

void check(const char* name, const Tensor& tensor) {
    TORCH_CHECK(tensor.device().type() == kNpu, "hccl ", name, ": a tensor on ", tensor.device(),
                " given; expected npu tensors (init_process_group(\"cpu:gloo,npu:hccl\") serves both)");
    TORCH_CHECK(tensor.is_non_overlapping_and_dense(), "hccl ", name, ": a tensor of shape ", tensor.sizes(), " and strides ",
                tensor.strides(), " has gaps or overlaps; expected a dense one, as contiguous() makes it");
}

// A CPU tensor on the elements of `npu`; it keeps them alive. `bytes`: as one row of bytes, for what is only moved: Gloo knows few
// types. Otherwise one row of elements: the strides do not matter to sums, and Gloo wants contiguous tensors.
Tensor on_cpu(const char* name, const Tensor& npu, bool bytes) {
    check(name, npu);
    const int64_t count = bytes ? npu.numel() * static_cast<int64_t>(npu.itemsize()) : npu.numel();
    return at::from_blob(npu.data_ptr(), {count}, [kept = npu](void*) {},
                         at::TensorOptions(at::kCPU).dtype(bytes ? at::kByte : npu.scalar_type()));
}

Tensors on_cpu(const char* name, const Tensors& npu, bool bytes) {
    Tensors all;
    for (const Tensor& t : npu) all.push_back(on_cpu(name, t, bytes));
    return all;
}

std::vector<Tensors> on_cpu(const char* name, const std::vector<Tensors>& npu, bool bytes) {
    std::vector<Tensors> all;
    for (const Tensors& list : npu) all.push_back(on_cpu(name, list, bytes));
    return all;
}

uint64_t bytes_of_all(const Tensors& tensors) {
    uint64_t sum = 0;
    for (const Tensor& t : tensors) sum += bytes_of(t);
    return sum;
}

// One collective: Gloo's work, what is left to do with its result, and its end in simulated time.
class HcclWork final : public c10d::Work {
public:
    struct Timing {
        int device;
        double end_us;
    };

    HcclWork(c10d::OpType type, const char* name, c10::intrusive_ptr<c10d::Work> gloo, std::function<void()> finish,
             c10::IValue result, Timing timing)
        : c10d::Work(-1, type, name), gloo_(std::move(gloo)), finish_(std::move(finish)), result_(std::move(result)), timing_(timing) {}

    bool isCompleted() override { return gloo_->isCompleted(); }
    bool isSuccess() const override { return gloo_->isSuccess(); }
    std::exception_ptr exception() const override { return gloo_->exception(); }
    int sourceRank() const override { return gloo_->sourceRank(); }
    void abort() override { gloo_->abort(); }
    Tensors result() override {
        Tensors all;
        result_.visit([&](const c10::IValue& v) {
            if (v.isTensor()) all.push_back(v.toTensor());
            return false;
        });
        return all;
    }
    // Kernels run on the host as they are submitted, so the host has to wait for the bytes; simulated time only passes for the stream.
    bool wait(std::chrono::milliseconds timeout) override {
        gloo_->wait(timeout);
        finish_once();
        synchronize();
        return true;
    }
    void synchronize() override { timeline().wait(timing_.device, current_stream(timing_.device).id(), timing_.end_us); }
    void blockCurrentStream() override { wait(kNoTimeout); }

    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
        std::lock_guard lock(future_mutex_);
        if (future_) return future_;
        const c10::TypePtr type = result_.isTensorList() ? c10::TypePtr(c10::ListType::ofTensors())
                                                         : c10::TypePtr(c10::ListType::create(c10::ListType::ofTensors()));
        future_ = c10::make_intrusive<c10::ivalue::Future>(
            type, std::vector<c10::Device>{c10::Device(kNpu, static_cast<c10::DeviceIndex>(timing_.device))});
        const auto self = c10::intrusive_ptr<HcclWork>::reclaim_copy(this);
        gloo_->getFuture()->addCallback([self, future = future_](c10::ivalue::Future& done) {
            if (done.hasError()) return future->setError(done.exception_ptr());
            self->finish_once();
            future->markCompleted(self->result_);
        }, /*uses_future=*/false);
        return future_;
    }

private:
    void finish_once() {
        std::call_once(finished_, [this] {
            if (finish_) finish_();
        });
    }

    const c10::intrusive_ptr<c10d::Work> gloo_;
    const std::function<void()> finish_;
    const c10::IValue result_;
    const Timing timing_;
    std::once_flag finished_;
    std::mutex future_mutex_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// The time of moving `bytes` through this card's ports, from when the current stream gets there. No AI core is busy meanwhile.
HcclWork::Timing charge_link(const char* name, int device, double bytes) {
    timeline().wait(device, kCommunicationStream, timeline().now_us(device, current_stream(device).id()));
    const double duration_us = estimate_rates().launch_us + bytes / kLinkBytesPerUs;
    const double start_us = timeline().run(Span{.name = name, .device = device, .stream = kCommunicationStream,
                                                .duration_us = duration_us, .bytes = static_cast<uint64_t>(bytes), .is_estimate = true},
                                           Timeline::kNoCores);
    return {device, timeline().is_enabled() ? start_us + duration_us : start_us};
}

c10::intrusive_ptr<c10d::Work> work(c10d::OpType type, const char* name, c10::intrusive_ptr<c10d::Work> gloo, c10::IValue result,
                                    int device, double bytes, std::function<void()> finish = nullptr) {
    return c10::make_intrusive<HcclWork>(type, name, std::move(gloo), std::move(finish), std::move(result),
                                         charge_link(name, device, bytes));
}

// Sums and the like. Gloo adds few types and knows no average; those are made of what it has, and put back by finish().
struct Reduction {
    Tensors cpu;                        // what Gloo gets
    c10d::ReduceOp op;
    std::function<void()> finish;       // afterwards, on the tensors that hold results
};

bool gloo_adds(at::ScalarType type) {
    return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16 || type == at::kChar ||
           type == at::kByte || type == at::kInt || type == at::kLong;
}

Tensor reducible(const char* name, const Tensor& npu) {
    const Tensor cpu = on_cpu(name, npu, false);
    const auto type = npu.scalar_type();
    if (gloo_adds(type)) return cpu;
    if (type == at::kBool) return cpu.view(at::kByte).clone();
    if (type == at::kShort || type == at::kUInt16) return cpu.to(at::kInt);
    TORCH_CHECK_TYPE(false, "hccl ", name, ": cannot reduce ", type, "; expected float32, float64, float16, bfloat16, a whole number type "
                     "or bool. Tensors of any type can be moved (broadcast, all_gather, all_to_all, send).");
}

c10d::ReduceOp reducible(const char* name, const c10d::ReduceOp& op, at::ScalarType type) {
    const auto kind = static_cast<c10d::ReduceOp::RedOpType>(op);
    TORCH_CHECK_VALUE(kind != c10d::ReduceOp::PREMUL_SUM, "hccl ", name, ": ReduceOp PREMUL_SUM is not known; expected SUM, AVG, PRODUCT, "
                      "MIN, MAX, BAND, BOR or BXOR");
    if (type == at::kBool)      // sums and products of truth values are or and and
        return kind == c10d::ReduceOp::SUM || kind == c10d::ReduceOp::BOR ? c10d::ReduceOp::MAX
               : kind == c10d::ReduceOp::PRODUCT || kind == c10d::ReduceOp::BAND ? c10d::ReduceOp::MIN : kind;
    return kind == c10d::ReduceOp::AVG ? c10d::ReduceOp(c10d::ReduceOp::SUM) : op;
}

Reduction reduction(const char* name, const Tensors& npu, const c10d::ReduceOp& op, int size) {
    TORCH_CHECK_VALUE(!npu.empty(), "hccl ", name, ": no tensors given; expected at least one");
    Reduction made;
    made.op = reducible(name, op, npu[0].scalar_type());
    for (const Tensor& t : npu) made.cpu.push_back(reducible(name, t));
    const bool is_average = op == c10d::ReduceOp::AVG;
    TORCH_CHECK_TYPE(!is_average || npu[0].is_floating_point(), "hccl ", name, ": ReduceOp AVG of ", npu[0].scalar_type(),
                     "; expected a floating-point type");
    if (is_average || !gloo_adds(npu[0].scalar_type()))
        made.finish = [name, npu, cpu = made.cpu, is_average, size] {
            for (size_t i = 0; i < npu.size(); ++i) {
                if (is_average) cpu[i].div_(size);
                const Tensor target = on_cpu(name, npu[i], false);
                if (target.data_ptr() != cpu[i].data_ptr()) target.copy_(npu[i].scalar_type() == at::kBool ? cpu[i].ne(0) : cpu[i]);
            }
        };
    return made;
}

int device_index(const Tensor& tensor) { return tensor.device().index(); }

const Tensor& one_of(const Tensor& tensor) { return tensor; }
const Tensor& one_of(const Tensors& tensors) {
    TORCH_CHECK_VALUE(!tensors.empty(), "hccl: no tensors given; expected at least one");
    return tensors[0];
}

// The collective; while its stream is captured, replays call it, and the work that comes back is none. `issue` holds what it needs.
template <typename T, typename F>
c10::intrusive_ptr<c10d::Work> captured(const T& tensors, F issue) {
    const Tensor& any = one_of(tensors);
    if (!may_be_capturing() || any.device().type() != kNpu) return issue();
    Recording* recording = recording_here(device_index(any));
    if (!recording) return issue();
    recording->node("hccl", [issue]() mutable { issue()->wait(); });
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
    done->markCompleted(Tensors{});
    return c10d::Work::create_from_future(done);
}

}  // namespace

ProcessGroupHccl::ProcessGroupHccl(c10::intrusive_ptr<c10d::Backend> gloo)
    : c10d::Backend(gloo->getRank(), gloo->getSize()), gloo_(std::move(gloo)), options_(c10::make_intrusive<Options>(false)) {}

using c10d::OpType;

// Bytes through one rank's ports: a ring passes everything (n - 1) / n times for a gather or a scatter, twice that for a reduction.
double ProcessGroupHccl::ring(uint64_t bytes) const { return static_cast<double>(bytes) * (size_ - 1) / size_; }

ProcessGroupHccl::Work ProcessGroupHccl::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
    return captured(tensors, [=, this]() mutable -> Work {
        Tensors cpu = on_cpu("broadcast", tensors, true);
        return work(OpType::BROADCAST, "hccl::broadcast", gloo_->broadcast(cpu, options), tensors, device_index(tensors[0]),
                    static_cast<double>(bytes_of_all(tensors)));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
    return captured(tensors, [=, this]() mutable -> Work {
        Reduction r = reduction("all_reduce", tensors, options.reduceOp, size_);
        c10d::AllreduceOptions with = options;
        with.reduceOp = r.op;
        return work(OpType::ALLREDUCE, "hccl::all_reduce", gloo_->allreduce(r.cpu, with), tensors, device_index(tensors[0]),
                    2 * ring(bytes_of_all(tensors)), r.finish);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
    return captured(tensors, [=, this]() mutable -> Work {
        Reduction r = reduction("all_reduce_coalesced", tensors, options.reduceOp, size_);
        c10d::AllreduceCoalescedOptions with = options;
        with.reduceOp = r.op;
        return work(OpType::ALLREDUCE_COALESCED, "hccl::all_reduce_coalesced", gloo_->allreduce_coalesced(r.cpu, with), tensors,
                    device_index(tensors[0]), 2 * ring(bytes_of_all(tensors)), r.finish);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
    return captured(tensors, [=, this]() mutable -> Work {
        Reduction r = reduction("reduce", tensors, options.reduceOp, size_);
        c10d::ReduceOptions with = options;
        with.reduceOp = r.op;
        if (rank_ != options.rootRank) r.finish = nullptr;
        return work(OpType::REDUCE, "hccl::reduce", gloo_->reduce(r.cpu, with), tensors, device_index(tensors[0]),
                    static_cast<double>(bytes_of_all(tensors)), r.finish);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
    return captured(inputs, [=, this]() mutable -> Work {
        std::vector<Tensors> to = on_cpu("all_gather", outputs, true);
        Tensors from = on_cpu("all_gather", inputs, true);
        const c10::IValue result = outputs.size() == 1 ? c10::IValue(outputs[0]) : c10::IValue(outputs);
        return work(OpType::ALLGATHER, "hccl::all_gather", gloo_->allgather(to, from, options), result, device_index(inputs[0]),
                    ring(bytes_of_all(inputs) * size_));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
    return captured(input, [=, this]() mutable -> Work {
        TORCH_CHECK_VALUE(output.numel() == input.numel() * size_ && output.scalar_type() == input.scalar_type(),
                          "hccl all_gather_into_tensor: output has ", output.numel(), " elements of ", output.scalar_type(), "; expected ",
                          size_, " times the ", input.numel(), " elements of ", input.scalar_type(), " of the input");
        Tensor to = on_cpu("all_gather_into_tensor", output, true), from = on_cpu("all_gather_into_tensor", input, true);
        return work(OpType::_ALLGATHER_BASE, "hccl::all_gather_into_tensor", gloo_->_allgather_base(to, from, options), Tensors{output},
                    device_index(input), ring(bytes_of(output)));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                         const c10d::AllgatherOptions& options) {
    return captured(inputs, [=, this]() mutable -> Work {
        Tensors to = on_cpu("all_gather_into_tensor", outputs, true), from = on_cpu("all_gather_into_tensor", inputs, true);
        return work(OpType::COALESCED, "hccl::all_gather_into_tensor_coalesced", gloo_->allgather_into_tensor_coalesced(to, from, options),
                    outputs, device_index(inputs[0]), ring(bytes_of_all(outputs)));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
    return captured(inputs, [=, this]() mutable -> Work {
        std::vector<Tensors> to = on_cpu("gather", outputs, true);
        Tensors from = on_cpu("gather", inputs, true);
        const c10::IValue result = outputs.size() == 1 ? c10::IValue(outputs[0]) : c10::IValue(Tensors{});
        return work(OpType::GATHER, "hccl::gather", gloo_->gather(to, from, options), result, device_index(inputs[0]),
                    static_cast<double>(bytes_of_all(inputs)) * (rank_ == options.rootRank ? size_ - 1 : 1));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) {
    return captured(outputs, [=, this]() mutable -> Work {
        Tensors to = on_cpu("scatter", outputs, true);
        std::vector<Tensors> from = on_cpu("scatter", inputs, true);
        return work(OpType::SCATTER, "hccl::scatter", gloo_->scatter(to, from, options), outputs, device_index(outputs[0]),
                    static_cast<double>(bytes_of_all(outputs)) * (rank_ == options.rootRank ? size_ - 1 : 1));
    });
}

// Built on all_reduce of one row: Gloo has no reduce_scatter of its own for every type, and its sums are the same either way.
ProcessGroupHccl::Work ProcessGroupHccl::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                              const c10d::ReduceScatterOptions& options) {
    return captured(output, [=, this]() mutable -> Work {
        TORCH_CHECK_VALUE(input.numel() == output.numel() * size_ && output.scalar_type() == input.scalar_type(),
                          "hccl reduce_scatter_tensor: input has ", input.numel(), " elements of ", input.scalar_type(), "; expected ", size_,
                          " times the ", output.numel(), " elements of ", output.scalar_type(), " of the output");
        const Tensor target = on_cpu("reduce_scatter_tensor", output, false);
        const Tensor staged = on_cpu("reduce_scatter_tensor", input, false).clone();
        const auto type = input.scalar_type();
        Tensors row{gloo_adds(type) ? staged : type == at::kBool ? staged.view(at::kByte) : reducible("reduce_scatter_tensor", input)};
        c10d::AllreduceOptions with;
        with.reduceOp = reducible("reduce_scatter_tensor", options.reduceOp, type);
        with.timeout = options.timeout;
        const bool is_average = options.reduceOp == c10d::ReduceOp::AVG;
        TORCH_CHECK_TYPE(!is_average || input.is_floating_point(), "hccl reduce_scatter_tensor: ReduceOp AVG of ", type,
                         "; expected a floating-point type");
        const auto finish = [target, whole = row[0], is_average, rank = rank_, size = size_] {
            const Tensor mine = whole.narrow(0, rank * target.numel(), target.numel());
            if (is_average) mine.div_(size);
            target.copy_(target.scalar_type() == at::kBool ? mine.ne(0) : mine);
        };
        return work(OpType::_REDUCE_SCATTER_BASE, "hccl::reduce_scatter_tensor", gloo_->allreduce(row, with), Tensors{output},
                    device_index(output), ring(bytes_of(input)), finish);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                        const c10d::ReduceScatterOptions& options) {
    return captured(outputs, [=, this]() mutable -> Work {
        TORCH_CHECK_VALUE(outputs.size() == 1 && inputs.size() == 1 && static_cast<int>(inputs[0].size()) == size_,
                          "hccl reduce_scatter: expected one output and a list of ", size_, " inputs, one a rank");
        Tensors flat;
        for (const Tensor& t : inputs[0]) {
            check("reduce_scatter", t);
            TORCH_CHECK_VALUE(t.numel() == outputs[0].numel(), "hccl reduce_scatter: an input has ", t.numel(), " elements; expected ",
                              outputs[0].numel(), ", as the output");
            flat.push_back(t.reshape({-1}));
        }
        Tensor row = at::cat(flat);
        return _reduce_scatter_base(outputs[0], row, options);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                         const c10d::ReduceScatterOptions& options) {
    return captured(outputs, [=, this]() mutable -> Work {
        TORCH_CHECK_VALUE(!outputs.empty() && outputs.size() == inputs.size(), "hccl reduce_scatter_tensor_coalesced: ", outputs.size(),
                          " outputs and ", inputs.size(), " inputs given; expected as many of one as of the other");
        for (size_t i = 0; i + 1 < outputs.size(); ++i) _reduce_scatter_base(outputs[i], inputs[i], options)->wait();
        return _reduce_scatter_base(outputs.back(), inputs.back(), options);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                                                       std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) {
    return captured(input, [=, this]() mutable -> Work {
        TORCH_CHECK_TYPE(output.scalar_type() == input.scalar_type(), "hccl all_to_all_single: output is ", output.scalar_type(),
                         " and input ", input.scalar_type(), "; expected one type");
        // Rows, not elements, are split: a row of bytes a row.
        const auto as_rows = [](const Tensor& npu) {
            check("all_to_all_single", npu);
            TORCH_CHECK_VALUE(npu.is_contiguous() && npu.dim() > 0, "hccl all_to_all_single: a tensor of shape ", npu.sizes(), " and strides ",
                              npu.strides(), "; expected a contiguous one of at least one dimension");
            return on_cpu("all_to_all_single", npu, true).view({npu.size(0), -1});
        };
        Tensor to = output.numel() ? as_rows(output) : at::empty({output.dim() ? output.size(0) : 0, 0}, at::kByte);
        Tensor from = input.numel() ? as_rows(input) : at::empty({input.dim() ? input.size(0) : 0, 0}, at::kByte);
        // A side without elements has no row length of its own; Gloo compares them.
        if (!output.numel() && input.numel()) to = at::empty({output.size(0), from.size(1)}, at::kByte);
        if (!input.numel() && output.numel()) from = at::empty({input.size(0), to.size(1)}, at::kByte);
        return work(OpType::ALLTOALL_BASE, "hccl::all_to_all_single", gloo_->alltoall_base(to, from, output_splits, input_splits, options),
                    Tensors{output}, device_index(input), ring(std::max(bytes_of(input), bytes_of(output))));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
    return captured(inputs, [=, this]() mutable -> Work {
        TORCH_CHECK_VALUE(static_cast<int>(outputs.size()) == size_ && static_cast<int>(inputs.size()) == size_, "hccl all_to_all: ",
                          outputs.size(), " outputs and ", inputs.size(), " inputs given; expected ", size_, " of each, one a rank");
        // Gloo only has the single-tensor form.
        Tensors from = on_cpu("all_to_all", inputs, true), to = on_cpu("all_to_all", outputs, true);
        std::vector<int64_t> input_splits, output_splits;
        int64_t total = 0;
        for (const Tensor& t : from) input_splits.push_back(t.numel());
        for (const Tensor& t : to) output_splits.push_back(t.numel()), total += t.numel();
        Tensor row_in = at::cat(from), row_out = at::empty({total}, at::kByte);
        const auto finish = [to, row_out] {
            int64_t begin = 0;
            for (const Tensor& t : to) {
                t.copy_(row_out.narrow(0, begin, t.numel()));
                begin += t.numel();
            }
        };
        return work(OpType::ALLTOALL, "hccl::all_to_all", gloo_->alltoall_base(row_out, row_in, output_splits, input_splits, options), outputs,
                    device_index(inputs[0]), ring(bytes_of_all(inputs)), finish);
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::send(Tensors& tensors, int to, int tag) {
    return captured(tensors, [=, this]() mutable -> Work {
        Tensors cpu = on_cpu("send", tensors, true);
        return work(OpType::SEND, "hccl::send", gloo_->send(cpu, to, tag), tensors, device_index(tensors[0]),
                    static_cast<double>(bytes_of_all(tensors)));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::recv(Tensors& tensors, int from, int tag) {
    return captured(tensors, [=, this]() mutable -> Work {
        Tensors cpu = on_cpu("recv", tensors, true);
        return work(OpType::RECV, "hccl::recv", gloo_->recv(cpu, from, tag), tensors, device_index(tensors[0]),
                    static_cast<double>(bytes_of_all(tensors)));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::recvAnysource(Tensors& tensors, int tag) {
    return captured(tensors, [=, this]() mutable -> Work {
        Tensors cpu = on_cpu("recv", tensors, true);
        return work(OpType::RECVANYSOURCE, "hccl::recv", gloo_->recvAnysource(cpu, tag), tensors, device_index(tensors[0]),
                    static_cast<double>(bytes_of_all(tensors)));
    });
}

ProcessGroupHccl::Work ProcessGroupHccl::barrier(const c10d::BarrierOptions& options) {
    if (recording_here(current_device())) Recording::refuse("a barrier");
    const int device = options.device && options.device->type() == kNpu ? index_of(*options.device) : current_device();
    return work(OpType::BARRIER, "hccl::barrier", gloo_->barrier(options), Tensors{}, device, 0);
}

}  // namespace ascend::npu
