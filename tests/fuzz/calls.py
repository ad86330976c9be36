# SPDX-License-Identifier: MIT
"""Which calls does the fuzzer make? A seed is a call: a function, tensors of random shape, dtype, stride and scale, most of them right,
some with one or two things wrong. The same seed gives the same bits on every backend."""

import random
from dataclasses import dataclass, field

import torch

FUNCTIONS = [f"{stem}_{suffix}" for stem in ("bf16_gemm", "fp8_fp4_gemm") for suffix in ("nt", "nn", "tn", "tt")]
WRONG = ("dtype", "shape", "rank", "stride", "scale_dtype", "scale_shape", "scale_value", "recipe", "alpha_and_epilogue", "c", "device")


@dataclass
class Call:
    function: str
    a: object
    b: object
    d: torch.Tensor
    keywords: dict = field(default_factory=dict)
    accumulate: bool = False
    wrong: tuple = ()

    def __str__(self):
        def show(x):
            if isinstance(x, tuple):
                return f"({', '.join(map(show, x))})"
            return f"{str(x.dtype)[6:]}{list(x.shape)}/{list(x.stride())}@{x.device.type}" if isinstance(x, torch.Tensor) else repr(x)
        keywords = {**self.keywords, **({"c": "d"} if self.accumulate else {})}
        return f"{self.function}({show(self.a)}, {show(self.b)}, {show(self.d)}, {keywords}) wrong: {self.wrong}"


def _extent(rng) -> int:
    return rng.choice([0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 65, rng.randint(1, 40), rng.randint(1, 300)])


def _lines(values: torch.Tensor, mn_major: bool, gap: int, device) -> torch.Tensor:
    """The matrix with the chosen unit-stride axis and `gap` elements of garbage behind each line."""
    lines = (values.T if mn_major else values).contiguous()
    raw = lines.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[lines.element_size()])
    buffer = torch.randint(0, 255, (raw.shape[0], raw.shape[1] + gap), dtype=torch.uint8).to(raw.dtype)
    buffer[:, : raw.shape[1]] = raw
    view = buffer.to(device).view(values.dtype)[:, : raw.shape[1]]
    return view.T if mn_major else view


def _codes(rng, rows: int, columns: int, generator) -> torch.Tensor:
    codes = torch.randint(0, 256, (rows, columns), dtype=torch.uint8, generator=generator)
    return torch.where((codes & 0x7F) == 0x7F, codes ^ 1, codes).view(torch.float8_e4m3fn)


def _quantised(rng, mn: int, k: int, kind: str, gran: int, generator, device):
    mn_major, gap = rng.random() < 0.4, rng.choice([0, 0, 1, 7])
    if kind == "fp8":
        data = _lines(_codes(rng, mn, k, generator), mn_major, gap, device)
    else:
        stored = (max(mn // 2, 1), k) if mn_major else (mn, max(k // 2, 1))
        data = _lines(torch.randint(-128, 128, stored, dtype=torch.int8, generator=generator), mn_major, gap, device)
    blocks = -(-k // 32)
    exponents = torch.randint(118, 121, (-(-mn // gran), blocks), dtype=torch.uint8, generator=generator)
    if rng.random() < 0.5:
        sf = (exponents.to(torch.int32) << 23).view(torch.float32)
    else:
        padded = torch.zeros(exponents.shape[0], -(-blocks // 2) * 2, dtype=torch.int32)
        padded[:, :blocks] = exponents
        sf = (padded[:, 0::2] | padded[:, 1::2] << 8).to(torch.int16)
    return data, _lines(sf, rng.random() < 0.5, rng.choice([0, 0, 3]), device)


def make(seed: int, device: str) -> Call:
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    function = rng.choice(FUNCTIONS)
    m, n, k = _extent(rng), _extent(rng), _extent(rng)
    wrong = tuple(rng.sample(WRONG, rng.choice([0, 0, 0, 1, 1, 2])))
    keywords = {}
    if function.startswith("bf16"):
        def operand(mn):
            return _lines(torch.randn(mn, k, generator=generator).bfloat16(), rng.random() < 0.4, rng.choice([0, 0, 1, 9]), device)
        a, b = operand(m), operand(n)
    else:
        kinds = rng.choice([("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4"), ("fp4", "fp8")])
        m, n, k = (x + x % 2 for x in (m, n, k)) if "fp4" in kinds else (m, n, k)
        grans = [2 ** rng.choice([0, 0, 0, 2, 5, 7]) for _ in range(2)]
        a = _quantised(rng, m, k, kinds[0], grans[0], generator, device)
        b = _quantised(rng, n, k, kinds[1], grans[1], generator, device)
        if grans != [1, 1] or rng.random() < 0.3:
            keywords["recipe"] = (*grans, 32)
    if rng.random() < 0.3:
        keywords["alpha"] = rng.uniform(-1, 1)
    d_dtype = rng.choice([torch.bfloat16, torch.float32])
    d = _lines(torch.randn(m, n, generator=generator).to(d_dtype), False, rng.choice([0, 0, 1, 16]), device)
    call = Call(function, a, b, d, keywords, rng.random() < 0.35, wrong)
    for fault in wrong:
        _break(call, fault, rng, device)
    suffix = function[-2:]
    turn = lambda x: tuple(t.T if t.dim() == 2 else t for t in x) if isinstance(x, tuple) else (x.T if x.dim() == 2 else x)  # noqa: E731
    if suffix[0] == "t":
        call.a = turn(call.a)
    if suffix[1] == "n":
        call.b = turn(call.b)
    return call


def _break(call: Call, fault: str, rng, device) -> None:
    pair = isinstance(call.a, tuple)
    side = rng.choice(["a", "b"])
    data = getattr(call, side)[0] if pair else getattr(call, side)
    sf = getattr(call, side)[1] if pair else None

    def put(new_data, new_sf=None):
        setattr(call, side, (new_data, sf if new_sf is None else new_sf) if pair else new_data)
    if fault == "dtype":
        put(data.to(torch.float32) if data.dtype != torch.float8_e4m3fn else data.view(torch.uint8))
    elif fault == "shape" and data.dim() == 2 and data.shape[0] > 1:
        put(data[:-1] if rng.random() < 0.5 else data[:, : max(data.shape[1] - 1, 0)])
    elif fault == "rank":
        put(data.unsqueeze(0) if rng.random() < 0.5 else data.reshape(-1))
    elif fault == "stride" and data.dim() == 2 and min(data.shape) > 2:
        put(data[::2, ::2])
    elif fault == "scale_dtype" and pair:
        put(data, sf.to(torch.int32))
    elif fault == "scale_shape" and pair and sf.shape[0] > 1:
        put(data, sf[:-1])
    elif fault == "scale_value" and pair and sf.dtype == torch.float32 and sf.numel():
        bad = sf.clone()
        bad[0, 0] = rng.choice([3.0, -1.0, float("nan")])
        put(data, bad)
    elif fault == "recipe" and pair:
        call.keywords["recipe"] = rng.choice([(1, 1, 128), (3, 1, 32), (1, 256, 32), (1, 1)])
    elif fault == "alpha_and_epilogue":
        import deep_gemm
        call.keywords |= {"alpha": 0.5, "epilogue": deep_gemm.epilogue.Identity()}
    elif fault == "c":
        call.keywords["c"] = torch.zeros(call.d.shape[0], call.d.shape[1] + 1, dtype=call.d.dtype, device=device)
        call.accumulate = False
    elif fault == "device" and device == "npu":
        put(data.cpu())
