// SPDX-License-Identifier: MIT
// How an operator without an npu kernel runs on the CPU's, on the same bytes.
#include "torch/fallback.h"

#include <torch/library.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "torch/cpu_views.h"
#include "torch/devices.h"
#include "torch/estimate.h"
#include "torch/generator.h"
#include "torch/graph.h"

namespace ascend::npu {
namespace {

// What one needs to know about an operator, worked out at its first call.
struct OpInfo {
    std::string name;                   // aten::add.out
    std::vector<bool> writes, is_out;   // by argument
    bool writes_any = false;
    int generator_argument = -1;
    bool draws_without_generator = false;
    bool takes_host_tensors = false;
    bool has_dynamic_shape = false;     // the host must know values to know the shape of the result
    bool reads_by_index = false;        // reads as much of its first argument as it writes
    int matmul_argument = -1;           // A of A @ B, B follows it
    int attention_products = 0;         // matrix products of an attention operator
    int attention_argument = 0;         // its query; the key follows
    int host_result = -1;               // stays on the CPU
    std::atomic<uint64_t> calls{0};
};

const std::unordered_map<std::string, int> kMatmulArgument = {
    {"mm", 0}, {"bmm", 0}, {"addmm", 1}, {"baddbmm", 1}, {"addbmm", 1}, {"addmv", 1}, {"mv", 0}, {"dot", 0}, {"vdot", 0},
    {"_addmm_activation", 1}, {"_int_mm", 0}, {"_scaled_mm", 0}, {"_grouped_mm", 0}, {"_scaled_grouped_mm", 0},
};
const std::unordered_set<std::string> kReadsByIndex = {
    "embedding", "index", "_unsafe_index", "index_select", "gather", "take", "masked_select",
};
// Operators that every device lets have CPU tensors beside its own. Others refuse them, as on any device, except numbers.
const std::unordered_set<std::string> kTakesHostTensors = {
    "index", "index_put", "index_put_", "_index_put_impl_", "_index_put_impl", "_unsafe_index", "_unsafe_index_put",
    "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "_ctc_loss", "_ctc_loss_backward", "_pack_padded_sequence",
    "_copy_from", "_copy_from_and_resize", "_use_cudnn_ctc_loss", "_nested_tensor_from_tensor_list",
    "_padded_dense_to_jagged_forward", "_jagged_to_padded_dense_forward",
};

std::string after_namespace(const std::string& name) {
    const size_t colons = name.find("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::mutex infos_mutex;
std::vector<std::unique_ptr<OpInfo>> infos;     // all of them, for the counts; entries are never removed

OpInfo& new_info(const c10::OperatorHandle& op) {
    const auto& schema = op.schema();
    auto info = std::make_unique<OpInfo>();
    const std::string plain = after_namespace(schema.name());
    info->name = schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
    const auto& arguments = schema.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
        const bool writes = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
        info->writes.push_back(writes);
        info->is_out.push_back(arguments[i].is_out());
        info->writes_any |= writes;
        c10::TypePtr type = arguments[i].type();
        if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
        if (type->kind() == c10::TypeKind::GeneratorType) info->generator_argument = static_cast<int>(i);
    }
    info->draws_without_generator = info->generator_argument < 0 && op.hasTag(at::Tag::nondeterministic_seeded);
    info->has_dynamic_shape = op.hasTag(at::Tag::dynamic_output_shape);
    const bool is_aten = schema.name().rfind("aten::", 0) == 0;
    info->takes_host_tensors = !is_aten || kTakesHostTensors.count(plain) > 0;
    if (is_aten) {
        info->reads_by_index = kReadsByIndex.count(plain) > 0;
        if (const auto found = kMatmulArgument.find(plain); found != kMatmulArgument.end()) info->matmul_argument = found->second;
        if (plain == "_scaled_dot_product_flash_attention_for_cpu") info->attention_products = 2;
        if (plain == "_scaled_dot_product_flash_attention_for_cpu_backward") {
            info->attention_products = 5;       // the scores again, and two for each of the forward's
            info->attention_argument = 1;       // behind the gradient
        }
        if (plain == "_pack_padded_sequence") info->host_result = 1;    // batch sizes: recurrent layers want them on the CPU
    }
    std::lock_guard lock(infos_mutex);
    infos.push_back(std::move(info));
    return *infos.back();
}

OpInfo& info_of(const c10::OperatorHandle& op) {
    // Libraries can be unloaded and their schemas' addresses reused, hence the comparison of names.
    thread_local std::unordered_map<const c10::FunctionSchema*, OpInfo*> known;
    OpInfo*& info = known[&op.schema()];
    const auto& name = op.schema().operator_name();
    if (!info || info->name.compare(0, name.name.size(), name.name) != 0 || !info->name.ends_with(name.overload_name))
        info = &new_info(op);
    return *info;
}

template <typename F>
void for_each_tensor(const c10::IValue& value, const F& f) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) f(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor& t : value.toTensorVector())
            if (t.defined()) f(t);
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, f);
    } else if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) for_each_tensor(element, f);
    }
}

// The same value with every tensor replaced. Lists are made anew: the caller may still hold the old one.
template <typename F>
c10::IValue with_tensors(const c10::IValue& value, const F& f) {
    if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(f(value.toTensor())) : value;
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& t : value.toTensorVector()) list.push_back(t.defined() ? f(t) : t);
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor> t : value.toOptionalTensorList())
            list.push_back(t && t->defined() ? std::optional(f(*t)) : t);
        return list;
    }
    if (value.isTuple()) {
        std::vector<c10::IValue> elements;
        for (const c10::IValue& element : value.toTupleRef().elements()) elements.push_back(with_tensors(element, f));
        return c10::ivalue::Tuple::create(std::move(elements));
    }
    if (value.isList()) {
        bool has_tensor = false;
        for_each_tensor(value, [&](const at::Tensor&) { has_tensor = true; });
        if (!has_tensor) return value;
        c10::impl::GenericList list(value.toList().elementType());
        for (const c10::IValue& element : value.toListRef()) list.push_back(with_tensors(element, f));
        return list;
    }
    return value;
}

bool is_npu(const at::Tensor& t) { return t.device().type() == kNpu; }

// The device the call is for: that of the first npu tensor, else of a device argument, else the current one. Two devices in
// one call are refused as on any device; so are CPU tensors, unless they hold one number or the operator takes them.
int device_of_call(const OpInfo& info, const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
    int device = -1;
    std::optional<c10::Device> asked;
    const at::Tensor* host = nullptr;
    size_t host_argument = 0;
    std::optional<c10::Device> other;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].isDevice() && arguments[i].toDevice().type() == kNpu) asked = arguments[i].toDevice();
        for_each_tensor(arguments[i], [&](const at::Tensor& t) {
            if (is_npu(t)) {
                if (device < 0) device = t.device().index();
                else if (device != t.device().index()) other = t.device();
            } else if (!host && t.is_cpu() && t.dim() > 0) {
                host = &t;
                host_argument = i;
            }
        });
    }
    TORCH_CHECK(!other || info.takes_host_tensors, "Expected all tensors to be on the same device, but found at least two "
                "devices, npu:", device, " and ", *other, "! (in ", info.name, ")");
    TORCH_CHECK(device < 0 || !host || info.takes_host_tensors, "Expected all tensors to be on the same device, but found at "
                "least two devices, npu:", device, " and cpu! (when checking argument ",
                schema.arguments()[host_argument].name(), " of ", info.name, ")");
    if (device >= 0) return device;
    return asked ? index_of(*asked) : current_device();
}

at::Generator host_generator(const OpInfo& info, const c10::IValue& argument, int device) {
    if (argument.isNone()) return default_generator(device).get<Generator>()->host();
    const at::Generator given = argument.toGenerator();
    TORCH_CHECK(given.device().type() == kNpu, "Expected a 'npu' device type for generator but found '", given.device().type(),
                "' (in ", info.name, ")");
    return given.get<Generator>()->host();
}

// Read from memory before the call, written by it: counted from shapes, since the operator itself is a black box.
class Meter {
public:
    void before(const OpInfo& info, c10::ArrayRef<c10::IValue> arguments) {
        for (size_t i = 0; i < arguments.size(); ++i) {
            uint64_t bytes = 0;
            for_each_tensor(arguments[i], [&](const at::Tensor& t) { bytes += is_npu(t) ? bytes_of(t) : 0; });
            if (i == 0 && info.reads_by_index) skipped_ = bytes;
            else if (!info.is_out[i]) work_.bytes += bytes;
        }
        if (info.attention_products) {      // every product has as many multiplications as query @ key.T
            const at::Tensor &query = arguments[info.attention_argument].toTensor(), &key = arguments[info.attention_argument + 1].toTensor();
            work_.flops = 2.0 * info.attention_products * static_cast<double>(query.numel()) * static_cast<double>(key.size(-2));
            work_.flops_type = query.scalar_type();
        }
        if (const int a = info.matmul_argument; a >= 0 && arguments[a].isTensor() && arguments[a + 1].isTensor()) {
            work_.flops = matmul_flops(arguments[a].toTensor(), arguments[a + 1].toTensor());
            work_.flops_type = arguments[a].toTensor().scalar_type();
        }
    }
    // `new_bytes`: of results in new memory; `written`: of arguments written to, in their final size.
    void after(const OpInfo& info, int device, uint64_t new_bytes, uint64_t written, bool is_only_a_view) {
        if (is_only_a_view) return;     // a matter of the host alone
        const uint64_t out = new_bytes + written;
        work_.bytes += out + std::min(skipped_, out);
        charge(info.name.c_str(), device, work_);
    }

private:
    Work work_;
    uint64_t skipped_ = 0;
};

[[noreturn]] void no_kernel(const OpInfo& info) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, info.name, " has no kernel for the device npu, and none for the CPU to fall back on. "
                                "torch.library.impl(\"", info.name, "\", \"PrivateUse1\", function) registers one.");
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    OpInfo& info = info_of(op);
    info.calls.fetch_add(1, std::memory_order_relaxed);
    if (info.has_dynamic_shape) note_synchronization(info.name.c_str());
    const auto& schema = op.schema();
    const size_t argument_count = schema.arguments().size();
    const size_t first = stack->size() - argument_count;

    // Arguments: npu tensors become CPU tensors on the same bytes, the npu device the CPU, the npu generator the one inside.
    const auto arguments = c10::ArrayRef<c10::IValue>(stack->data() + first, argument_count);
    const int device = device_of_call(info, schema, arguments);
    Meter meter;
    meter.before(info, arguments);
    CpuViews views(device);
    c10::SmallVector<at::Tensor, 2> written;
    for (size_t i = 0; i < argument_count; ++i) {
        c10::IValue& argument = (*stack)[first + i];
        if (static_cast<int>(i) == info.generator_argument) {
            argument = host_generator(info, argument, device);
        } else if (argument.isDevice()) {
            if (argument.toDevice().type() == kNpu) argument = c10::Device(c10::DeviceType::CPU);
        } else if (argument.isTensor() || argument.isList() || argument.isTuple()) {
            argument = with_tensors(argument, [&](const at::Tensor& t) {
                if (!is_npu(t)) {
                    views.keep_on_host(t);
                    return t;
                }
                if (info.writes[i]) written.push_back(t);
                return views.view(t);
            });
        }
    }

    // The CPU kernel.
    std::optional<BorrowedCpuGenerator> borrowed;
    if (info.draws_without_generator) borrowed.emplace(*default_generator(device).get<Generator>());
    try {
        op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    } catch (const c10::NotImplementedError&) {
        if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) no_kernel(info);
        throw;
    }
    borrowed.reset();

    // Results.
    views.commit();
    const size_t result_count = schema.returns().size();
    uint64_t new_bytes = 0, written_bytes = 0;
    bool has_view = false, has_new = false;
    for (size_t i = 0; i < result_count; ++i) {
        c10::IValue& value = (*stack)[stack->size() - result_count + i];
        if (static_cast<int>(i) == info.host_result) {
            value = value.toTensor().clone();
            continue;
        }
        value = with_tensors(value, [&](const at::Tensor& t) {
            (views.is_view_of_argument(t) ? has_view : has_new) = true;
            if (!views.is_view_of_argument(t)) new_bytes += bytes_of(t);
            return views.result(t);
        });
    }
    for (const at::Tensor& t : written) written_bytes += bytes_of(t);
    meter.after(info, device, new_bytes, written_bytes, has_view && !has_new && !info.writes_any);
}

}  // namespace

void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (may_be_capturing()) [[unlikely]] {
        const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
        const int device = device_of_call(info_of(op), op.schema(), arguments);
        if (Recording* recording = recording_here(device)) return recording->op(op, stack, &run_on_cpu);
    }
    run_on_cpu(op, stack);
}

std::map<std::string, uint64_t> fallback_counts() {
    std::lock_guard lock(infos_mutex);
    std::map<std::string, uint64_t> counts;
    for (const auto& info : infos)
        if (info->calls > 0) counts[info->name] += info->calls;
    return counts;
}

void reset_fallback_counts() {
    std::lock_guard lock(infos_mutex);
    for (const auto& info : infos) info->calls = 0;
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>()); }

// Where PyTorch has a composite kernel for every device beside one for the CPU, it would take the composite: another rounding
// than on the CPU; for arithmetic three calls (shape, empty, out=) instead of one; for conj_physical_ one that cannot work.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    for (const char* name : {
             "_stack", "native_layer_norm", "native_group_norm", "addr", "all.dims", "any.dims", "linalg__powsum",
             "native_channel_shuffle", "conj_physical_", "mish_backward", "silu_backward",
             "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "exp", "log",
             "sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh", "silu", "gelu", "maximum", "minimum", "clamp", "clamp_min",
             "clamp_max", "where.self", "eq.Scalar", "eq.Tensor", "ne.Scalar", "ne.Tensor", "lt.Scalar", "lt.Tensor", "le.Scalar",
             "le.Tensor", "gt.Scalar", "gt.Tensor", "ge.Scalar", "ge.Tensor", "sum.dim_IntList", "mean.dim", "amax", "amin",
             "argmax", "argmin", "max.dim", "min.dim", "cumsum", "_softmax", "_log_softmax", "mm", "bmm", "addmm", "baddbmm",
             "cat", "gather", "scatter.src", "scatter.value", "scatter_add", "index_add", "index.Tensor", "topk", "sort.stable",
             "tril", "triu",
             "add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor", "lerp.Scalar", "addcmul", "addcdiv", "addcmul_",
             "addcdiv_", "lerp_.Scalar", "_softmax_backward_data", "_log_softmax_backward_data", "threshold_backward",
             "sigmoid_backward", "tanh_backward", "gelu_backward", "nll_loss_forward", "nll_loss_backward",
             "mse_loss", "smooth_l1_loss"})          // out= would warn of a resize
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());
}

}  // namespace ascend::npu
