// SPDX-License-Identifier: MIT
// How work is captured and done again.
#include "torch/graph.h"

#include <c10/util/Exception.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "chip/hbm.h"
#include "torch/devices.h"
#include "torch/generator.h"
#include "torch/host_memory.h"
#include "torch/memory_pool.h"

namespace ascend::npu {

std::atomic<Recording*> active_recording{nullptr};

namespace {

thread_local int inside_captured_op = 0;

struct Inside {
    Inside() { ++inside_captured_op; }
    ~Inside() { --inside_captured_op; }
};

std::mutex pools_mutex;
std::unordered_map<void*, GraphPool*> pool_of_block;
std::atomic<size_t> pooled_blocks{0};

// The same elements, under a tensor of the graph's own: the caller may resize, set or write on with the one that it has.
at::Tensor own(const at::Tensor& t) {
    if (!t.defined()) return t;
    if (t.device().type() != kNpu) return t.dim() == 0 && !is_pinned(t.data_ptr()) ? t.clone() : t;    // numbers are captured by value
    return at::Tensor(t.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true));
}

template <typename F>
c10::IValue map_tensors(const c10::IValue& value, const F& f) {
    if (value.isTensor()) return f(value.toTensor());
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& t : value.toTensorVector()) list.push_back(f(t));
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor> t : value.toOptionalTensorList()) list.push_back(t ? std::optional(f(*t)) : t);
        return list;
    }
    return value.isList() ? value.deepcopy() : value;
}

void collect(const c10::IValue& value, std::vector<at::Tensor>& into) {
    map_tensors(value, [&](const at::Tensor& t) {
        if (t.defined()) into.push_back(t);
        return t;
    });
}

std::vector<at::Tensor> tensors_of(const torch::jit::Stack& stack) {
    std::vector<at::Tensor> all;
    for (const c10::IValue& value : stack) collect(value, all);
    return all;
}

// What an operator returned this time goes where the captured result is, unless it is there already (in-place, out=, views).
void put_where_captured(const std::string& name, const at::Tensor& captured, const at::Tensor& now) {
    if (captured.device().type() != kNpu || captured.data_ptr() == now.data_ptr()) return;
    TORCH_CHECK(captured.sizes() == now.sizes() && captured.strides() == now.strides(), "NPU graph: ", name, " returned a tensor of shape ",
                now.sizes(), " where ", captured.sizes(), " was captured; its shape must not depend on values");
    if (now.is_non_overlapping_and_dense())
        std::memcpy(captured.data_ptr(), now.data_ptr(), static_cast<size_t>(now.numel()) * now.itemsize());
    else
        captured.copy_(now);
}

}  // namespace

// Pools.

void GraphPool::add(void* p) {
    if (!p) return;
    std::lock_guard lock(pools_mutex);
    blocks_.insert(p);
    pool_of_block[p] = this;
    pooled_blocks = pool_of_block.size();
}

bool GraphPool::keeps(void* p) {
    if (pooled_blocks.load(std::memory_order_relaxed) == 0) return false;
    std::lock_guard lock(pools_mutex);
    const auto found = pool_of_block.find(p);
    if (found == pool_of_block.end()) return false;
    found->second->released_.insert(p);
    return true;
}

GraphPool::~GraphPool() {
    {
        std::lock_guard lock(pools_mutex);
        for (void* p : blocks_) pool_of_block.erase(p);
        pooled_blocks = pool_of_block.size();
    }
    for (void* p : released_) {
        if (free_pooled(p)) continue;
        if (Hbm* owner = hbm_containing(p)) owner->free(p);
    }
}

// Recording.

Recording* recording_of(int device, c10::StreamId stream) {
    Recording* recording = active_recording.load(std::memory_order_acquire);
    return recording && inside_captured_op == 0 && recording->covers(device, stream) ? recording : nullptr;
}

Recording* recording_here(int device) {
    return may_be_capturing() ? recording_of(device, current_stream(device).id()) : nullptr;
}

bool is_capturing(int device, c10::StreamId stream) {
    Recording* recording = active_recording.load(std::memory_order_acquire);
    return recording && recording->covers(device, stream);
}

Recording::Recording(int device, c10::StreamId stream, std::shared_ptr<GraphPool> pool)
    : device_(device), streams_{stream}, pool_(std::move(pool)), segments_{std::make_shared<GraphSegment>()} {}

bool Recording::covers(int device, c10::StreamId stream) {
    if (device != device_) return false;
    std::lock_guard lock(mutex_);
    return streams_.count(stream) > 0;
}

void Recording::join(int device, c10::StreamId stream) {
    if (device != device_) return;
    std::lock_guard lock(mutex_);
    streams_.insert(stream);
}

void Recording::refuse(const char* what) {
    TORCH_CHECK(false, "NPU graph: ", what, " while the stream is captured; a graph cannot wait for a value on the host.");
}

void Recording::remember(const at::Tensor& written) {
    if (!written.defined() || written.device().type() != kNpu || !written.has_storage()) return;
    c10::StorageImpl* storage = written.storage().unsafeGetStorageImpl();
    if (!storage->nbytes() || saved_.count(storage)) return;
    void* data = storage->mutable_data();
    {
        std::lock_guard lock(pools_mutex);
        if (pool_of_block.count(data)) return;      // made during a capture: nothing of before is in it
    }
    const char* bytes = static_cast<const char*>(data);
    saved_[storage] = {written.storage(), data, std::vector<char>(bytes, bytes + storage->nbytes())};
}

void Recording::writes(const at::Tensor& npu) {
    std::lock_guard lock(mutex_);
    remember(npu);
}

void Recording::remember(const at::Generator& generator) {
    for (const auto& [known, state] : generators_)
        if (known == generator) return;
    generators_.emplace_back(generator, generator.get_state());
}

void Recording::op(const c10::OperatorHandle& op, torch::jit::Stack* stack, Kernel kernel) {
    const auto& schema = op.schema();
    const std::string name = schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
    if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output))
        refuse((name + ", whose result has a shape or value that the host must know,").c_str());
    const size_t count = schema.arguments().size(), first = stack->size() - count;
    torch::jit::Stack arguments;
    {
        std::lock_guard lock(mutex_);
        for (size_t i = 0; i < count; ++i) {
            const c10::IValue& value = (*stack)[first + i];
            const auto* alias = schema.arguments()[i].alias_info();
            if (alias && alias->isWrite()) {
                std::vector<at::Tensor> written;
                collect(value, written);
                for (const at::Tensor& t : written) remember(t);
            }
            if (value.isGenerator()) remember(value.toGenerator());
        }
        if (op.hasTag(at::Tag::nondeterministic_seeded)) remember(default_generator(device_));
    }
    for (size_t i = 0; i < count; ++i) arguments.push_back(map_tensors((*stack)[first + i], own));
    {
        const Inside inside;
        kernel(op, stack);
    }
    std::vector<at::Tensor> results;
    for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i) collect((*stack)[i], results);
    for (at::Tensor& t : results) t = own(t);
    node(name, [op, kernel, name, arguments = std::move(arguments), results = std::move(results)] {
        torch::jit::Stack again = arguments;
        kernel(op, &again);
        const std::vector<at::Tensor> now = tensors_of(again);
        TORCH_CHECK(now.size() == results.size(), "NPU graph: ", name, " returned ", now.size(), " tensors where ", results.size(), " were captured");
        for (size_t i = 0; i < now.size(); ++i) put_where_captured(name, results[i], now[i]);
    });
}

void Recording::node(std::string name, std::function<void()> run) {
    std::lock_guard lock(mutex_);
    segments_.back()->push_back({std::move(name), std::move(run)});
}

void Recording::begin_group() {
    std::lock_guard lock(mutex_);
    segments_.push_back(std::make_shared<GraphSegment>());
}

std::shared_ptr<GraphSegment> Recording::end_group() {
    std::lock_guard lock(mutex_);
    auto group = segments_.back();
    segments_.push_back(std::make_shared<GraphSegment>());
    return group;
}

std::vector<std::shared_ptr<GraphSegment>> Recording::finish() {
    std::lock_guard lock(mutex_);
    for (const auto& [impl, saved] : saved_)
        if (saved.storage.data() == saved.data && saved.storage.nbytes() >= saved.bytes.size())
            std::memcpy(saved.data, saved.bytes.data(), saved.bytes.size());
    for (auto& [generator, state] : generators_) generator.set_state(state);
    saved_.clear();
    generators_.clear();
    return std::move(segments_);
}

// Graphs.

at::MempoolId_t new_pool_id() {
    static std::atomic<uint64_t> last{0};
    return {0, ++last};
}

Graph::~Graph() {
    if (recording_) active_recording = nullptr;
}

void Graph::capture_begin(at::MempoolId_t pool, at::GraphCaptureMode) {
    check_not_forked();
    TORCH_CHECK(!recording_ && !is_captured_, "NPUGraph.capture_begin: this graph has been captured already; reset() makes it empty");
    const int device = current_device();
    const c10::StreamId stream = current_stream(device).id();
    TORCH_CHECK(stream != 0, "NPUGraph.capture_begin: the current stream is the default stream of npu:", device,
                "; expected another one, as in `with torch.npu.stream(torch.npu.Stream())`");
    pool_ = std::make_shared<GraphPool>();
    auto recording = std::make_unique<Recording>(device, stream, pool_);
    Recording* none = nullptr;
    TORCH_CHECK(active_recording.compare_exchange_strong(none, recording.get()),
                "NPUGraph.capture_begin: another graph is being captured; one can be at a time");
    recording_ = std::move(recording);
    device_ = device;
    pool_id_ = pool.first || pool.second ? pool : new_pool_id();
}

void Graph::capture_end() {
    TORCH_CHECK(recording_, "NPUGraph.capture_end: no capture has begun");
    active_recording = nullptr;
    segments_ = recording_->finish();
    recording_.reset();
    is_captured_ = true;
}

void Graph::instantiate() { TORCH_CHECK(is_captured_, "NPUGraph.instantiate: nothing has been captured"); }

void Graph::replay() {
    TORCH_CHECK(is_captured_, "NPUGraph.replay: nothing has been captured");
    check_not_forked();
    TORCH_CHECK(!recording_here(device_), "NPUGraph.replay: called while the stream is captured");
    const int before = current_device();
    set_current_device(device_);
    const at::NoGradGuard no_grad;
    try {
        for (const auto& segment : segments_)
            for (const GraphNode& node : *segment) node.run();
    } catch (...) {
        set_current_device(before);
        throw;
    }
    set_current_device(before);
}

void Graph::reset() {
    if (recording_) {
        active_recording = nullptr;
        recording_->finish();
        recording_.reset();
    }
    segments_.clear();
    pool_.reset();
    is_captured_ = false;
}

at::MempoolId_t Graph::pool() const {
    TORCH_CHECK(is_captured_ || recording_, "NPUGraph.pool: nothing has been captured");
    return pool_id_;
}

void Graph::debug_dump(const std::string& path) {
    TORCH_CHECK(is_captured_, "NPUGraph.debug_dump: nothing has been captured");
    std::ofstream file(path);
    file << "digraph npu_graph {\n  node [shape=box]\n";
    size_t index = 0;
    for (const auto& segment : segments_)
        for (const GraphNode& node : *segment) {
            if (node.name.empty()) continue;
            file << "  n" << index << " [label=\"" << node.name << "\"]\n";
            if (index) file << "  n" << index - 1 << " -> n" << index << "\n";
            ++index;
        }
    file << "}\n";
    TORCH_CHECK(file.flush(), "NPUGraph.debug_dump: cannot write ", path);
}

// Groups that are exchanged later.

namespace {

std::mutex groups_mutex;
std::vector<std::weak_ptr<GraphSegment>> groups;        // by handle
std::unique_ptr<Recording> update;
std::shared_ptr<GraphSegment> updated;

Recording& captured(const char* name, int device, c10::StreamId stream) {
    Recording* recording = recording_of(device, stream);
    TORCH_CHECK(recording && recording != update.get(), "torch.npu.", name, ": the stream is not being captured");
    return *recording;
}

}  // namespace

void begin_group(int device, c10::StreamId stream) { captured("graph_task_group_begin", device, stream).begin_group(); }

int64_t end_group(int device, c10::StreamId stream) {
    auto group = captured("graph_task_group_end", device, stream).end_group();
    std::lock_guard lock(groups_mutex);
    groups.push_back(group);
    return static_cast<int64_t>(groups.size()) - 1;
}

void begin_update(int device, c10::StreamId stream, int64_t handle) {
    std::lock_guard lock(groups_mutex);
    TORCH_CHECK_VALUE(handle >= 0 && handle < static_cast<int64_t>(groups.size()) && groups[handle].lock(),
                      "torch.npu.graph_task_update_begin: ", handle, " is not the handle of a group of a living graph");
    auto recording = std::make_unique<Recording>(device, stream, std::make_shared<GraphPool>());
    Recording* none = nullptr;
    TORCH_CHECK(active_recording.compare_exchange_strong(none, recording.get()),
                "torch.npu.graph_task_update_begin: a graph is being captured or updated; one can be at a time");
    update = std::move(recording);
    updated = groups[handle].lock();
}

void end_update(int device, c10::StreamId stream) {
    std::lock_guard lock(groups_mutex);
    TORCH_CHECK(update && update->covers(device, stream), "torch.npu.graph_task_update_end: no update has begun on this stream");
    active_recording = nullptr;
    auto pool = update->pool();
    GraphSegment nodes;
    for (const auto& segment : update->finish())
        for (GraphNode& node : *segment) nodes.push_back(std::move(node));
    // What the update allocated lives as long as its nodes.
    nodes.push_back({"", [pool] {}});
    *updated = std::move(nodes);
    update.reset();
    updated.reset();
}

}  // namespace ascend::npu

// PyTorch looks for the device's name as renamed, in capitals.
namespace at {
using NpuGraph = ascend::npu::Graph;
REGISTER_GRAPH_IMPL(NPU, NpuGraph)
}  // namespace at
