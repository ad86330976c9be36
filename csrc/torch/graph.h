// SPDX-License-Identifier: MIT
// What an NPU graph holds: the work that was submitted to a stream while it was captured, ready to be done again on the same memory.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/GraphImplInterface.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ascend::npu {

// One piece of captured work.
struct GraphNode {
    std::string name;
    std::function<void()> run;
};
// Nodes that can be exchanged together after the capture (graph_task_group_begin / _end).
using GraphSegment = std::vector<GraphNode>;

// Memory that was allocated during a capture: replays write it, so it stays allocated as long as the graph, whoever frees it.
class GraphPool {
public:
    ~GraphPool();
    void add(void* p);
    // Called when a block is freed: true if it belongs to a pool, which then frees it in its own time.
    static bool keeps(void* p);

private:
    std::unordered_set<void*> blocks_, released_;
};

// A capture in progress. Operators run while they are captured, since only running tells the shapes of what follows; what they wrote
// to older memory, and the state of generators, is put back at the end, so that a capture changes nothing. Kernels of the chip are only
// noted. Nothing is charged. What needs a value on the host is refused.
class Recording {
public:
    Recording(int device, c10::StreamId stream, std::shared_ptr<GraphPool> pool);

    using Kernel = void (*)(const c10::OperatorHandle&, torch::jit::Stack*);
    void op(const c10::OperatorHandle& op, torch::jit::Stack* stack, Kernel kernel);
    void node(std::string name, std::function<void()> run);
    void writes(const at::Tensor& npu);         // before an operator whose schema does not say so writes it
    [[noreturn]] static void refuse(const char* what);

    void begin_group();
    std::shared_ptr<GraphSegment> end_group();
    std::vector<std::shared_ptr<GraphSegment>> finish();    // undoes what the capture changed

    bool covers(int device, c10::StreamId stream);
    void join(int device, c10::StreamId stream);            // it waited for a captured event
    int device() const { return device_; }
    const std::shared_ptr<GraphPool>& pool() const { return pool_; }

private:
    void remember(const at::Tensor& written);
    void remember(const at::Generator& generator);

    struct Saved {
        c10::Storage storage;
        void* data;
        std::vector<char> bytes;
    };
    const int device_;
    std::mutex mutex_;
    std::set<c10::StreamId> streams_;
    std::shared_ptr<GraphPool> pool_;
    std::unordered_map<const c10::StorageImpl*, Saved> saved_;
    std::vector<std::pair<at::Generator, at::Tensor>> generators_;
    std::vector<std::shared_ptr<GraphSegment>> segments_;
};

// The capture that work submitted here belongs to; null almost always, and then it costs one load. `here`: this thread's current
// stream of the device. Null inside of an operator that is being captured.
extern std::atomic<Recording*> active_recording;
Recording* recording_of(int device, c10::StreamId stream);
Recording* recording_here(int device);
bool is_capturing(int device, c10::StreamId stream);        // also inside of an operator
inline bool may_be_capturing() { return active_recording.load(std::memory_order_acquire) != nullptr; }

// For kernels that are registered as C++ functions: captures the call of `F` as operator `name`.
template <auto F>
struct Captured;
template <typename R, typename... A, R (*F)(A...)>
struct Captured<F> {
    static void run(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
        static const auto kernel = c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(F));
        kernel.callBoxed(op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
    }
    static torch::jit::Stack call(Recording& recording, const char* name, A... arguments) {
        const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
        torch::jit::Stack stack;
        (stack.emplace_back(arguments), ...);
        recording.op(op, &stack, &run);
        return stack;
    }
};

// torch.npu.NPUGraph and torch.accelerator.Graph.
class Graph final : public at::GraphImplInterface {
public:
    explicit Graph(const at::GraphImplArgs&) {}
    ~Graph() override;

    void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode mode) override;
    void capture_end() override;
    void instantiate() override;
    void replay() override;
    void reset() override;
    at::MempoolId_t pool() const override;
    void enable_debug_mode() override {}
    void debug_dump(const std::string& path) override;

private:
    std::unique_ptr<Recording> recording_;
    std::vector<std::shared_ptr<GraphSegment>> segments_;
    std::shared_ptr<GraphPool> pool_;
    at::MempoolId_t pool_id_{0, 0};
    int device_ = 0;
    bool is_captured_ = false;
};

at::MempoolId_t new_pool_id();

// graph_task_group_begin and the like; `stream` must be captured, or is captured from begin_update to end_update: what is submitted meanwhile replaces the group.
void begin_group(int device, c10::StreamId stream);
int64_t end_group(int device, c10::StreamId stream);
void begin_update(int device, c10::StreamId stream, int64_t group);
void end_update(int device, c10::StreamId stream);

}  // namespace ascend::npu
