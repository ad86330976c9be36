# SPDX-License-Identifier: MIT
"""Which calls does the fuzzer make? A seed is a call: a function, tensors of random shape, dtype, stride and scale, of either library's dialect,
most of them right, some with one or two things wrong. The same seed gives the same bits on every backend."""

import random
from dataclasses import dataclass, field

import torch

SUFFIXES = ("nt", "nn", "tn", "tt")
FUNCTIONS = [f"{stem}_{suffix}" for stem in ("bf16_gemm", "fp8_fp4_gemm", "fp8_fp4_gemm", "aclnn_fp8_fp4_gemm", "cublaslt_gemm") for suffix in SUFFIXES]
FUNCTIONS += ["transform_sf_into_required_layout"] * 4 + ["fp8_gemm_nt_skip_head_mid"] * 2
WRONG = ("dtype", "shape", "rank", "stride", "scale_dtype", "scale_shape", "scale_value", "recipe", "alpha_and_epilogue", "c", "device", "missing")
# What a scale is stored as: dtype, elements of k a scale stands for, powers of two or not.
SCALES = ("fp32 32", "fp32 32", "int16 32", "int16 32", "fp32 128", "int32 32", "int32 128", "odd 128")
PER_ELEMENT = {"fp32": 1, "odd": 1, "int16": 2, "int32": 4}


@dataclass
class Call:
    function: str
    arguments: list                     # positional; d is arguments[2] of a GEMM
    keywords: dict = field(default_factory=dict)
    accumulate: bool = False
    wrong: tuple = ()

    @property
    def is_gemm(self) -> bool:
        return not self.function.startswith("transform")

    @property
    def d(self) -> torch.Tensor | None:
        return self.arguments[2] if self.is_gemm else None

    def run(self, module):
        """What it computes: d (of the vendor's bf16 GEMM c), or the returned tensor."""
        keywords = {**self.keywords, **({"c": self.d} if self.accumulate else {})}
        returned = getattr(module, self.function)(*self.arguments, **keywords)
        return self.d if self.is_gemm else returned

    def __str__(self):
        def show(x):
            if isinstance(x, (tuple, list)):
                return f"({', '.join(map(show, x))})"
            return f"{str(x.dtype)[6:]}{list(x.shape)}/{list(x.stride())}@{x.device.type}" if isinstance(x, torch.Tensor) else repr(x)
        keywords = {name: show(value) for name, value in self.keywords.items()} | ({"c": "d"} if self.accumulate else {})
        return f"{self.function}{show(self.arguments)} {keywords} wrong: {self.wrong}"


def make(seed: int, device: str) -> Call:
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    function = rng.choice(FUNCTIONS)
    wrong = tuple(rng.sample(WRONG, rng.choice([0, 0, 0, 1, 1, 2])))
    aligned = rng.random() < 0.4        # NVIDIA's bulk copies ask for it
    m, n, k = (_extent(rng, aligned) for _ in range(3))
    if function.startswith("transform"):
        call = _transform(rng, m, k, generator, device, wrong)
    elif function.startswith(("bf16", "cublaslt")):
        operands = [_lines(torch.randn(mn, k, generator=generator).bfloat16(), rng.random() < 0.4, _gap(rng, aligned, 2), device) for mn in (m, n)]
        call = Call(function, operands, {}, False, wrong)
    else:
        call, (m, n, k) = _quantised_call(rng, function, m, n, k, aligned, generator, device, wrong)
    call.function = function
    if call.is_gemm:
        _finish_gemm(rng, call, m, n, aligned, generator, device)
    for fault in wrong:
        _break(call, fault, rng, device)
    suffix = function[-2:]
    if call.is_gemm and suffix in SUFFIXES:
        call.arguments[0] = _turned(call.arguments[0]) if suffix[0] == "t" else call.arguments[0]
        call.arguments[1] = _turned(call.arguments[1]) if suffix[1] == "n" else call.arguments[1]
    return call


def _extent(rng, aligned: bool) -> int:
    if aligned:
        return 16 * rng.choice([0, 1, 2, 3, 8, 16, rng.randint(1, 20)])
    return rng.choice([0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 65, rng.randint(1, 40), rng.randint(1, 300)])


def _gap(rng, aligned: bool, element_size: int) -> int:
    return rng.choice([0, 0, 16 // element_size]) if aligned else rng.choice([0, 0, 1, 7])


def _lines(values: torch.Tensor, mn_major: bool, gap: int, device) -> torch.Tensor:
    """The matrix with the chosen unit-stride axis and `gap` elements of garbage behind each line."""
    lines = (values.mT if mn_major else values).contiguous()
    raw = lines.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[lines.element_size()])
    buffer = torch.randint(0, 255, (*raw.shape[:-1], raw.shape[-1] + gap), dtype=torch.uint8).to(raw.dtype)
    buffer[..., : raw.shape[-1]] = raw
    view = buffer.to(device).view(values.dtype)[..., : raw.shape[-1]]
    return view.mT if mn_major else view


def _codes(rows: int, columns: int, generator) -> torch.Tensor:
    codes = torch.randint(0, 256, (rows, columns), dtype=torch.uint8, generator=generator)
    return torch.where((codes & 0x7F) == 0x7F, codes ^ 1, codes).view(torch.float8_e4m3fn)


def _scale(kind: str, shape: tuple[int, ...], generator) -> torch.Tensor:
    """Scales of a natural shape [.., rows, blocks], stored as the kind says."""
    dtype = kind.split()[0]
    exponents = torch.randint(118, 121, shape, dtype=torch.int32, generator=generator)
    if PER_ELEMENT[dtype] == 1:
        mantissas = torch.randint(0, 1 << 23, shape, dtype=torch.int32, generator=generator) if dtype == "odd" else 0
        return (exponents << 23 | mantissas).view(torch.float32)
    width = PER_ELEMENT[dtype]
    padded = torch.zeros((*shape[:-1], -(-shape[-1] // width) * width), dtype=torch.uint8)
    padded[..., : shape[-1]] = exponents
    stored = torch.empty((*shape[:-1], padded.shape[-1] // width), dtype={2: torch.int16, 4: torch.int32}[width])
    return stored if stored.numel() == 0 else padded.view(stored.dtype)


def _place_scale(rng, sf: torch.Tensor, aligned: bool, device) -> torch.Tensor:
    if aligned and sf.dtype == torch.int32 and rng.random() < 0.7 and sf.numel():            # as NVIDIA's kernels read it
        rows = -(-sf.shape[-2] // 4) * 4
        return _lines(sf, True, rows - sf.shape[-2], device)
    return _lines(sf, rng.random() < 0.5, rng.choice([0, 0, 3]), device)


def _quantised_call(rng, function, m, n, k, aligned, generator, device, wrong):
    kinds = ("fp8", "fp8") if "skip" in function else rng.choice([("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4"), ("fp4", "fp8")])
    if "fp4" in kinds:
        m, n, k = ((x + 127) // 128 * 128 if aligned and rng.random() < 0.7 else x + x % 2 for x in (m, n, k))
    if function.startswith("aclnn"):
        k = (k + 63) // 64 * 64 if rng.random() < 0.8 else k
    sf_kinds = [rng.choice(SCALES)] * 2 if rng.random() < 0.7 else rng.choices(SCALES, k=2)
    if function.startswith("aclnn"):
        sf_kinds = ["fp32 32"] * 2
    grans = [1 if kind.startswith("int32") or function.startswith("aclnn") else 2 ** rng.choice([0, 0, 0, 2, 5, 7]) for kind in sf_kinds]
    operands = []
    for mn, number_format, kind, gran in zip((m, n), kinds, sf_kinds, grans):
        mn_major = rng.random() < (0.1 if kind.startswith("odd") else 0.4)
        if number_format == "fp8":
            data = _codes(mn, k, generator)
        else:
            data = torch.randint(-128, 128, (max(mn // 2, 1), k) if mn_major else (mn, max(k // 2, 1)), dtype=torch.int8, generator=generator)
        sf = _scale(kind, (-(-mn // gran), -(-k // int(kind.split()[1]))), generator)
        operands.append((_lines(data, mn_major, _gap(rng, aligned, 1), device), _place_scale(rng, sf, aligned, device)))
    keywords = {}
    recipes = [(gran, int(kind.split()[1])) for gran, kind in zip(grans, sf_kinds)]
    if function.startswith("aclnn"):
        keywords |= {"recipe": (1, 1, 32)} if rng.random() < 0.5 else {}
    elif recipes != [(1, 32), (1, 32)] or rng.random() < 0.6:
        if recipes[0][1] == recipes[1][1] and (rng.random() < 0.7 or "skip" in function):
            keywords["recipe"] = (recipes[0][0], recipes[1][0], recipes[0][1])
        elif "skip" not in function:
            keywords |= {"recipe_a": recipes[0], "recipe_b": recipes[1]}
    if rng.random() < 0.1:
        keywords["disable_ue8m0_cast"] = True
    if "skip" in function:
        keywords["head_splits"] = rng.choice([(2, 1, 2), (16, 8, 0), (0, 16, 16), (8, 8, 8)])
        period = keywords["head_splits"][0] + keywords["head_splits"][2]
        n = n // period * period if rng.random() < 0.9 else n
        operands[1] = (operands[1][0][:n], operands[1][1][: -(-n // grans[1])])
    return Call(function, operands, keywords, False, wrong), (m, n, k)


def _finish_gemm(rng, call: Call, m: int, n: int, aligned: bool, generator, device) -> None:
    if "aclnn" not in call.function and "cublaslt" not in call.function and "skip" not in call.function and rng.random() < 0.3:
        call.keywords["alpha"] = rng.uniform(-1, 1)
    dtype = rng.choice([torch.bfloat16, torch.float32])
    if "skip" in call.function:
        left, mid, right = call.keywords["head_splits"]
        n = n // (left + right) * (left + mid + right)
    d = _lines(torch.randn(m, n, generator=generator).to(dtype), False, rng.choice([0, 0, 8 if aligned else 1, 16]), device)
    call.arguments.append(d)
    call.accumulate = rng.random() < 0.35 and "skip" not in call.function


def _transform(rng, mn: int, k: int, generator, device, wrong) -> Call:
    kind = rng.choice(SCALES)
    gran_mn, gran_k = (1 if kind.startswith("int32") else 2 ** rng.choice([0, 0, 2, 7])), int(kind.split()[1])
    batch = rng.choice([None, None, None, 1, 2])
    shape = (*(() if batch is None else (batch,)), -(-mn // gran_mn), -(-k // gran_k))
    sf = _place_scale(rng, _scale(kind, shape, generator), True, device)
    keywords = {"disable_ue8m0_cast": True} if rng.random() < 0.1 else {}
    if batch is not None:
        keywords["num_groups"] = batch
    recipe = (gran_mn, gran_k)
    if rng.random() < 0.5:
        is_sfa = rng.random() < 0.5
        recipe, keywords["is_sfa"] = ((gran_mn, 1, gran_k) if is_sfa else (1, gran_mn, gran_k)), is_sfa
    return Call("", [sf, mn, k, recipe], keywords, False, wrong)


def _turned(x):
    if isinstance(x, tuple):
        return tuple(map(_turned, x))
    return x.T if isinstance(x, torch.Tensor) and x.dim() == 2 else x


def _break(call: Call, fault: str, rng, device) -> None:
    side = rng.choice([0, 1]) if call.is_gemm else 0
    given = call.arguments[side]
    data, sf = given if isinstance(given, tuple) else (None, given) if not call.is_gemm else (given, None)

    def put(new_data, new_sf=None):
        new_sf = sf if new_sf is None else new_sf
        call.arguments[side] = (new_data, new_sf) if isinstance(given, tuple) else new_sf if data is None else new_data
    x = sf if data is None else data
    if not isinstance(x, torch.Tensor) or (isinstance(given, tuple) and not isinstance(sf, torch.Tensor)):
        return                              # something is missing already
    put_x = (lambda value: put(None, value)) if data is None else put
    if fault == "dtype":
        put_x(x.to(torch.float64) if x.dtype != torch.float8_e4m3fn else x.view(torch.uint8))
    elif fault == "shape" and x.shape[0] > 1:
        put_x(x[:-1] if rng.random() < 0.5 else x[..., : max(x.shape[-1] - 1, 0)])
    elif fault == "rank":
        put_x(x.unsqueeze(0) if rng.random() < 0.5 else x.reshape(-1))
    elif fault == "stride" and x.dim() == 2 and min(x.shape) > 2:
        put_x(x[::2, ::2])
    elif fault == "scale_dtype" and sf is not None:
        put(data, sf.to(torch.int64))
    elif fault == "scale_shape" and sf is not None and sf.dim() == 2 and sf.shape[0] > 1:
        put(data, sf[:-1])
    elif fault == "scale_value" and sf is not None and sf.dtype == torch.float32 and sf.numel():
        bad = sf.clone()
        bad[(0,) * bad.dim()] = rng.choice([3.0, -1.0, float("nan"), float("inf"), 0.0])
        put(data, bad)
    elif fault == "recipe" and sf is not None:
        recipe = rng.choice([(1, 1, 64), (3, 1, 32), (1, 256, 32), (1, 1), "ab", (1, 128, 128)])
        if call.is_gemm:
            call.keywords["recipe"] = recipe
        else:
            call.arguments[3] = recipe
    elif fault == "alpha_and_epilogue" and call.is_gemm and "bf16_gemm" in call.function:
        import deep_gemm
        call.keywords |= {"alpha": 0.5, "epilogue": deep_gemm.epilogue.Identity()}
    elif fault == "c" and call.is_gemm and "skip" not in call.function:
        call.keywords["c"] = torch.zeros(call.d.shape[0], call.d.shape[1] + 1, dtype=call.d.dtype, device=device)
        call.accumulate = False
    elif fault == "device" and device == "npu":
        put_x(x.cpu())
    elif fault == "missing":
        if isinstance(given, tuple):
            call.arguments[side] = rng.choice([data, (data, None), (None, sf), None])
        else:
            call.arguments[side] = None
