# SPDX-License-Identifier: MIT
"""Unmodified transformers 5.24 computes its FP8 layers by deep_gemm on npu, alone and inside a small random DeepSeek-V3.

transformers gets deep_gemm from a hub of CUDA kernels, if the CUDA device is new enough. Three answers are given instead, from outside: the
module, that it can be loaded, and which of NVIDIA's architectures this is, which chooses between two layouts of scale factors. The eager
path is the same model on the CPU, its FP8 layers being the definition in float64.
"""

import types

import pytest

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")]
pytest.importorskip("transformers", reason="make test-clients installs it")

import deep_gemm  # noqa: E402
import torch  # noqa: E402
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM, FineGrainedFP8Config  # noqa: E402
from transformers.integrations import deepgemm, finegrained_fp8, hub_kernels  # noqa: E402

BLOCK = 128
BF16_EPS = 2.0**-8              # of one rounding to nearest
FORMATS = {False: "float", True: "ue8m0"}       # is it SM100 -> the scales that its deep_gemm takes


@pytest.fixture(params=[False, True], ids=["sm90", "sm100"])
def is_sm100(request, monkeypatch):
    """transformers believes to be on that architecture, with deep_gemm as its kernel. The value says how often deep_gemm multiplied."""
    needed = ("m_grouped_fp8_fp4_gemm_nt_contiguous", "m_grouped_fp8_fp4_gemm_nn_contiguous", "m_grouped_bf16_gemm_nt_contiguous",
              "m_grouped_bf16_gemm_nn_contiguous", "transform_weights_for_mega_moe", "get_symm_buffer_for_mega_moe", "fp8_fp4_mega_moe")
    kernel = types.ModuleType("deep_gemm_for_transformers")
    vars(kernel).update({name: getattr(deep_gemm, name) for name in dir(deep_gemm) if not name.startswith("__")})
    for name in needed:
        if not hasattr(deep_gemm, name):            # must be there to be loaded, and is not called by FP8 layers
            setattr(kernel, name, _absent(name))
    calls = []

    def counted(*arguments, **named):
        calls.append(arguments[0][0].shape)
        return deep_gemm.fp8_fp4_gemm_nt(*arguments, **named)
    kernel.fp8_fp4_gemm_nt = counted
    monkeypatch.setitem(hub_kernels._KERNEL_MODULE_MAPPING, "deep-gemm", kernel)
    monkeypatch.setattr(deepgemm, "_DEEPGEMM", None)
    for module in (deepgemm, finegrained_fp8):
        monkeypatch.setattr(module, "is_deepgemm_loadable", lambda raise_error=False: True)
        monkeypatch.setattr(module, "is_sm100", lambda: request.param)
    return types.SimpleNamespace(value=request.param, calls=calls, scale_fmt=FORMATS[request.param])


def _absent(name):
    def absent(*arguments, **named):
        raise NotImplementedError(f"deep_gemm.{name}")
    return absent


def up_to_power_of_two(scale):
    mantissa, exponent = torch.frexp(scale)
    return torch.ldexp(torch.ones_like(scale), exponent - (mantissa == 0.5).int())


def quantized_weight(weight, scale_fmt):
    """(e4m3, scale of each block of 128 x 128)"""
    rows, columns = -(-weight.shape[0] // BLOCK), -(-weight.shape[1] // BLOCK)
    padded = torch.zeros(rows * BLOCK, columns * BLOCK)
    padded[:weight.shape[0], :weight.shape[1]] = weight.float()
    blocks = padded.view(rows, BLOCK, columns, BLOCK)
    scale = blocks.abs().amax((1, 3)).clamp(1e-4) / 448
    scale = up_to_power_of_two(scale) if scale_fmt == "ue8m0" else scale
    data = (blocks / scale[:, None, :, None]).reshape(padded.shape)[:weight.shape[0], :weight.shape[1]]
    return data.to(torch.float8_e4m3fn), scale.to(torch.float8_e8m0fnu if scale_fmt == "ue8m0" else torch.float32)


def definition(input, weight, weight_scale_inv, block_size=None, bias=None, activation_scale=None, allow_deepgemm=True):
    """transformers' fp8_linear in float64: rows of the input in FP8 with a scale every 128 elements, as deep_gemm's cast makes them."""
    x = input.float().reshape(-1, input.shape[-1] // BLOCK, BLOCK)
    scale = x.abs().amax(-1, keepdim=True).clamp(1e-4) / 448
    if weight_scale_inv.dtype == torch.float8_e8m0fnu:
        scale = up_to_power_of_two(scale)
    x = ((x * (1 / scale)).to(torch.float8_e4m3fn).double() * scale.double()).reshape(-1, input.shape[-1])
    scales = weight_scale_inv.double().repeat_interleave(BLOCK, 0)[:weight.shape[0]].repeat_interleave(BLOCK, 1)[:, :weight.shape[1]]
    return (x @ (weight.double() * scales).T).to(input.dtype).view(*input.shape[:-1], weight.shape[0])


def fp8_linear(in_features, out_features, scale_fmt, seed=0):
    torch.manual_seed(seed)
    layer = finegrained_fp8.FP8Linear(in_features, out_features, block_size=(BLOCK, BLOCK), scale_fmt=scale_fmt)
    data, scale = quantized_weight(torch.randn(out_features, in_features) / in_features**0.5, scale_fmt)
    with torch.no_grad():
        layer.weight.copy_(data)
        layer.weight_scale_inv.copy_(scale)
    return layer.requires_grad_(False)


@pytest.mark.parametrize("shape", [(256, 384), (512, 640), (1024, 512)])
@pytest.mark.parametrize("tokens", [(1, 1), (2, 17)])
def test_a_layer_is_its_definition_within_one_rounding(is_sm100, shape, tokens):
    if is_sm100.value and shape[0] % 512:
        pytest.skip("transformers packs four scales of 128 elements into a word on this architecture")
    layer = fp8_linear(*shape, is_sm100.scale_fmt)
    x = torch.randn(*tokens, shape[0], dtype=torch.bfloat16)
    x[..., :3] *= 100                                   # scales that differ
    expected = definition(x.double().bfloat16(), layer.weight, layer.weight_scale_inv).double()
    result = layer.npu()(x.npu())
    assert len(is_sm100.calls) == 1 and result.dtype == torch.bfloat16 and result.device.type == "npu"
    error, size = (result.cpu().double() - expected).abs(), expected.abs()
    assert (error <= 2 * BF16_EPS * size + 1e-5 * size.amax()).all(), (error / size.clamp_min(1e-6)).max()


def test_gradients_reach_the_input(is_sm100):
    layer = fp8_linear(512, 256, is_sm100.scale_fmt).npu()
    x = torch.randn(3, 512, dtype=torch.bfloat16, device="npu", requires_grad=True)
    layer(x).sum().backward()
    scales = layer.weight_scale_inv.float().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    torch.testing.assert_close(x.grad.float(), (layer.weight.float() * scales).sum(0).expand(3, -1), rtol=0.05, atol=0.05)


@pytest.fixture
def models(is_sm100):
    """A DeepSeek-V3 of 3 layers, the first dense, two with 4 experts: on npu, and its eager twin on the CPU. Experts stay in bf16."""
    torch.manual_seed(1)
    config = DeepseekV3Config(
        vocab_size=512, hidden_size=512, intermediate_size=1024, moe_intermediate_size=512, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=2, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, n_group=2, topk_group=1, first_k_dense_replace=1,
        kv_lora_rank=512, q_lora_rank=512, qk_rope_head_dim=128, qk_nope_head_dim=128, v_head_dim=256, max_position_embeddings=64,
        attn_implementation="eager", experts_implementation="eager", pad_token_id=0, bos_token_id=1, eos_token_id=None)
    plain = DeepseekV3ForCausalLM(config).bfloat16().eval()
    twins = []
    for _ in range(2):
        model = DeepseekV3ForCausalLM(config).bfloat16().eval()
        model.load_state_dict(plain.state_dict())
        quantization = FineGrainedFP8Config(weight_block_size=(BLOCK, BLOCK), scale_fmt=is_sm100.scale_fmt)
        finegrained_fp8.replace_with_fp8_linear(model, ["lm_head", "experts", "gate"], quantization)
        for name, module in model.named_modules():
            if isinstance(module, finegrained_fp8.FP8Linear):
                data, scale = quantized_weight(plain.get_submodule(name).weight.detach(), is_sm100.scale_fmt)
                module.to_empty(device="cpu")
                with torch.no_grad():
                    module.weight.copy_(data)
                    module.weight_scale_inv.copy_(scale)
        twins.append(model.requires_grad_(False))
    return twins[0].npu(), twins[1]


def eagerly(monkeypatch, call):
    with monkeypatch.context() as patch:
        patch.setattr(finegrained_fp8, "fp8_linear", definition)
        return call()


def apart(a, b) -> float:
    return ((a.cpu().double() - b.cpu().double()).norm() / b.double().norm()).item()


def test_a_model_agrees_with_its_eager_path(is_sm100, models, monkeypatch):
    """Each of its FP8 layers within one rounding, given its input. The logits: where scales are no powers of two, one rounding of a group's
    largest element moves the grid of all its others, so they are held to what one rounding of the embeddings does to the eager path."""
    on_npu, eager = models
    checked = []

    def check(module, arguments, result):
        expected = definition(arguments[0].cpu(), module.weight.cpu(), module.weight_scale_inv.cpu()).double()
        assert ((result.cpu().double() - expected).abs() <= 2 * BF16_EPS * expected.abs() + 1e-5 * expected.abs().amax()).all()
        checked.append(module)

    for module in on_npu.modules():
        if isinstance(module, finegrained_fp8.FP8Linear):
            module.register_forward_hook(check)
    tokens = torch.randint(2, 512, (2, 9), generator=torch.Generator().manual_seed(2))
    logits = on_npu(tokens.npu()).logits
    assert logits.device.type == "npu" and len(checked) == len(set(checked)) == len(is_sm100.calls) == 24

    expected = eagerly(monkeypatch, lambda: eager(tokens).logits)
    embeddings = eager.get_input_embeddings().weight
    with torch.no_grad():
        embeddings.mul_(1 + BF16_EPS * torch.randn(embeddings.shape, generator=torch.Generator().manual_seed(4)).sign())
    rounded = apart(eagerly(monkeypatch, lambda: eager(tokens).logits), expected)
    print(f"relative difference of the logits: {apart(logits, expected):.1e}; by one rounding of the embeddings: {rounded:.1e}")
    assert apart(logits, expected) <= rounded < 0.3


def test_generate_gives_the_eager_paths_tokens(is_sm100, models, monkeypatch):
    on_npu, eager = models
    prompt = torch.randint(2, 512, (2, 5), generator=torch.Generator().manual_seed(3))
    options = {"max_new_tokens": 4, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    result = on_npu.generate(prompt.npu(), attention_mask=torch.ones_like(prompt).npu(), **options)
    expected = eagerly(monkeypatch, lambda: eager.generate(prompt, attention_mask=torch.ones_like(prompt), **options))
    assert result.sequences.shape == (2, 9) and result.sequences.device.type == "npu" and len(is_sm100.calls) == 4 * 24
    for row in range(2):
        for step in range(4):
            logits, chosen = expected.logits[step][row].double(), result.sequences[row, 5 + step].item()
            if chosen != expected.sequences[row, 5 + step].item():
                assert logits.amax() - logits[chosen] < 0.2 * logits.std(), (row, step)        # a tie within the test above's; what follows differs
                break


def test_flash_attention_of_npu_is_the_stand_ins_operator(run_python):
    """With torch_npu importable, transformers takes its branches for Ascend: flash_attention_2 is torch_npu's fusion attention, also on rows padded."""
    code = """
import torch, transformers
from transformers.utils import is_torch_npu_available, is_flash_attn_2_available
assert is_torch_npu_available(check_device=True)
torch.manual_seed(0)
config = dict(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
eager = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config, attn_implementation="eager")).bfloat16().npu().eval()
flash = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config, attn_implementation="flash_attention_2")).bfloat16().npu().eval()
flash.load_state_dict(eager.state_dict())
tokens, mask = torch.randint(0, 64, (2, 12)).npu(), torch.ones(2, 12, dtype=torch.long).npu()
mask[1, :5] = 0
with torch.no_grad():
    for attention_mask in (None, mask):
        a, b = (model(tokens, attention_mask=attention_mask).logits[1, 5:].float() for model in (eager, flash))
        print(((a - b).norm() / a.norm()).item())
"""
    done = run_python(code, ASCEND_SIM_SHIMS="torch_npu")
    assert all(float(line) < 4 * BF16_EPS for line in done.stdout.split()), done.stdout
