// SPDX-License-Identifier: MIT
// Operators that PyTorch routes differently on an accelerator than on the CPU, so that the fallback finds no kernel for them:
// convolution, the fused recurrent cells, attention, histograms of integers.
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <tuple>

#include "torch/cpu_views.h"
#include "torch/devices.h"
#include "torch/estimate.h"
#include "torch/graph.h"

namespace ascend::npu {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

constexpr c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU);

bool is_given(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

// The CPU views of one call; charges what it read and wrote when it is done.
class Call {
public:
    Call(const char* name, const Tensor& first) : name_(name), views_(first.device().index()) {}
    ~Call() { charge(name_, views_.device(), work_); }

    Tensor in(const Tensor& npu) {
        if (!npu.defined()) return npu;
        work_.bytes += bytes_of(npu);
        return views_.view(npu);
    }
    OptionalTensor in(const OptionalTensor& npu) { return is_given(npu) ? OptionalTensor(in(*npu)) : std::nullopt; }
    Tensor out(const Tensor& cpu) {
        work_.bytes += bytes_of(cpu);
        return views_.result(cpu);
    }
    void matmul(double flops, c10::ScalarType type) {
        work_.flops = flops;
        work_.flops_type = type;
    }

private:
    const char* name_;
    at::AutoDispatchBelowADInplaceOrView below_autograd_;   // CPU views carry no history
    CpuViews views_;
    Work work_;
};

// Every output element of a convolution is a sum over the weights of one output channel.
double convolution_flops(const Tensor& output_like, const Tensor& weight) {
    return weight.size(0) ? 2.0 * static_cast<double>(output_like.numel()) * static_cast<double>(weight.numel()) /
                                static_cast<double>(weight.size(0))
                          : 0;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, c10::SymIntArrayRef stride,
                   c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed, c10::SymIntArrayRef output_padding,
                   c10::SymInt groups) {
    Call call("aten::convolution", input);
    const Tensor output = at::_ops::convolution::redispatch(kCpuKeys, call.in(input), call.in(weight), call.in(bias), stride, padding,
                                                            dilation, transposed, output_padding, std::move(groups));
    call.matmul(convolution_flops(transposed ? input : output, weight), input.scalar_type());
    return call.out(output);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                                        c10::SymIntArrayRef stride, c10::SymIntArrayRef padding,
                                                        c10::SymIntArrayRef dilation, bool transposed,
                                                        c10::SymIntArrayRef output_padding, c10::SymInt groups,
                                                        std::array<bool, 3> output_mask) {
    Call call("aten::convolution_backward", input);
    const c10::SymInt bias_size = grad_output.sym_size(1);
    const auto [grad_input, grad_weight, grad_bias] = at::_ops::convolution_backward::redispatch(
        kCpuKeys, call.in(grad_output), call.in(input), call.in(weight), at::OptionalSymIntArrayRef(c10::SymIntArrayRef(&bias_size, 1)),
        stride, padding, dilation, transposed, output_padding, std::move(groups), output_mask);
    call.matmul((output_mask[0] + output_mask[1]) * convolution_flops(transposed ? input : grad_output, weight), input.scalar_type());
    const auto out = [&](const Tensor& t) { return t.defined() ? call.out(t) : t; };
    return {out(grad_input), out(grad_weight), out(grad_bias)};
}

// Recurrent cells. Gates are [batch, count * hidden]; "workspace" is what the backward needs, in a form of our own choice.

Tensor gates(const Tensor& input, const Tensor& hidden, const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
    Tensor sum = input + hidden;
    if (is_given(input_bias)) sum = sum + *input_bias;
    if (is_given(hidden_bias)) sum = sum + *hidden_bias;
    return sum;
}

// d(sigmoid) and d(tanh), by their values
Tensor sigmoid_slope(const Tensor& value) { return value * (1 - value); }
Tensor tanh_slope(const Tensor& value) { return 1 - value * value; }

// workspace: [in, forget, cell, out] after activation
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                                             const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
    Call call("aten::_thnn_fused_lstm_cell", input_gates);
    const auto parts = gates(call.in(input_gates), call.in(hidden_gates), call.in(input_bias), call.in(hidden_bias)).chunk(4, -1);
    const Tensor in = at::sigmoid(parts[0]), forget = at::sigmoid(parts[1]), cell = at::tanh(parts[2]), out = at::sigmoid(parts[3]);
    const Tensor cy = forget * call.in(cx) + in * cell;
    const Tensor hy = out * at::tanh(cy);
    return {call.out(hy), call.out(cy), call.out(at::cat({in, forget, cell, out}, -1))};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy, const OptionalTensor& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace, bool has_bias) {
    if (!is_given(grad_hy) && !is_given(grad_cy)) return {};
    Call call("aten::_thnn_fused_lstm_cell_backward_impl", workspace);
    const auto parts = call.in(workspace).chunk(4, -1);
    const Tensor &in = parts[0], &forget = parts[1], &cell = parts[2], &out = parts[3];
    const Tensor tanh_cy = at::tanh(call.in(cy));
    const Tensor dhy = is_given(grad_hy) ? call.in(*grad_hy) : at::zeros_like(tanh_cy);
    Tensor dcy = dhy * out * tanh_slope(tanh_cy);
    if (is_given(grad_cy)) dcy = dcy + call.in(*grad_cy);
    const Tensor dgates = at::cat({dcy * cell * sigmoid_slope(in), dcy * call.in(cx) * sigmoid_slope(forget),
                                   dcy * in * tanh_slope(cell), dhy * tanh_cy * sigmoid_slope(out)}, -1);
    const Tensor dbias = has_bias ? dgates.sum(0) : Tensor();
    return {call.out(dgates), call.out(dcy * forget), has_bias ? call.out(dbias) : dbias};
}

// workspace: [reset, update, new, hx, hidden part of new before the reset gate]
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx_npu,
                                    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
    Call call("aten::_thnn_fused_gru_cell", input_gates);
    Tensor input = call.in(input_gates), hidden = call.in(hidden_gates);
    const Tensor hx = call.in(hx_npu);
    if (is_given(input_bias)) input = input + call.in(*input_bias);
    if (is_given(hidden_bias)) hidden = hidden + call.in(*hidden_bias);
    const auto i = input.chunk(3, -1), h = hidden.chunk(3, -1);
    const Tensor reset = at::sigmoid(i[0] + h[0]), update = at::sigmoid(i[1] + h[1]), fresh = at::tanh(i[2] + reset * h[2]);
    const Tensor hy = fresh + update * (hx - fresh);
    return {call.out(hy), call.out(at::cat({reset, update, fresh, hx, h[2]}, -1))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
    Call call("aten::_thnn_fused_gru_cell_backward", workspace);
    const auto parts = call.in(workspace).chunk(5, -1);
    const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &hx = parts[3], &hidden_new = parts[4];
    const Tensor dhy = call.in(grad_hy);
    const Tensor dupdate = dhy * (hx - fresh) * sigmoid_slope(update);
    const Tensor dnew = dhy * (1 - update) * tanh_slope(fresh);
    const Tensor dreset = dnew * hidden_new * sigmoid_slope(reset);
    const Tensor dinput = at::cat({dreset, dupdate, dnew}, -1), dhidden = at::cat({dreset, dupdate, dnew * reset}, -1);
    const auto bias = [&](const Tensor& grad) { return has_bias ? call.out(grad.sum(0)) : Tensor(); };
    return {call.out(dinput), call.out(dhidden), call.out(dhy * update), bias(dinput), bias(dhidden)};
}

// Which attention kernel scaled_dot_product_attention takes: that of the CPU, whose fused one falls back like any operator. It looks at
// shapes and types only, so this also answers for tensors that have no memory (torch.compile).
int64_t attention_choice(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask, double dropout,
                         bool is_causal, std::optional<double> scale, bool enable_gqa) {
    return at::_ops::_fused_sdp_choice::redispatch(kCpuKeys, query, key, value, mask, dropout, is_causal, scale, enable_gqa);
}

// The CPU has no histc for integers, other devices do; counts below 2^53 are exact in double.
Tensor histogram(const Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max) {
    Call call("aten::histc", self);
    const Tensor values = call.in(self);
    if (!at::isIntegralType(self.scalar_type(), /*includeBool=*/false)) return call.out(at::histc(values, bins, min, max));
    return call.out(at::histc(values.to(at::kDouble), bins, min, max).to(self.scalar_type()));
}

// Captured into a graph as the fallback's operators are, and otherwise called as they are.
template <auto F>
void boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    for (const c10::IValue& value : torch::jit::last(*stack, op.schema().arguments().size()))
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().device().type() == kNpu) {
            if (Recording* recording = recording_here(value.toTensor().device().index()))
                return recording->op(op, stack, &Captured<F>::run);
            break;
        }
    Captured<F>::run(op, stack);
}

template <auto F>
torch::CppFunction capturable() {
    return torch::CppFunction::makeFromBoxedFunction<&boxed<F>>();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("convolution_overrideable", capturable<&convolution>());
    library.impl("convolution_backward_overrideable", capturable<&convolution_backward>());
    library.impl("_thnn_fused_lstm_cell", capturable<&lstm_cell>());
    library.impl("_thnn_fused_lstm_cell_backward_impl", capturable<&lstm_cell_backward>());
    library.impl("_thnn_fused_gru_cell", capturable<&gru_cell>());
    library.impl("_thnn_fused_gru_cell_backward", capturable<&gru_cell_backward>());
    library.impl("_fused_sdp_choice", &attention_choice);
    library.impl("histc", capturable<&histogram>());
}

}  // namespace
}  // namespace ascend::npu

// The choice is asked for through this table, not through the operator.
namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &ascend::npu::attention_choice)
}  // namespace at::native
