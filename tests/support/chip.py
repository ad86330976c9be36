# SPDX-License-Identifier: MIT
"""A chip to ask: small traces written by hand, replayed by the library through its plain C functions (replay_c_api.cpp)."""

import ctypes as c
from pathlib import Path

import ascend_sim

LIBRARY = Path(ascend_sim.__file__).parent / "lib" / "libascend_sim.so"
PIPES = {name: i for i, name in enumerate(("S", "M", "V", "MTE1", "MTE2", "MTE3", "FIX", "ALL"))}
KINDS = {"aic": 0, "aiv0": 1, "aiv1": 2}
PATHS = {name: i for i, name in enumerate((
    "none", "sync", "gm_to_l1", "gm_to_ub", "ub_to_gm", "ub_to_l1", "l1_to_l0a", "l1_to_l0b", "l1_to_l0b_transposed",
    "l1_to_l0_mx", "l1_to_bt", "l1_to_fb", "l1_to_ub", "fill_l1", "cube", "l0c_to_ub", "l0c_to_ub_dual", "l0c_to_l1",
    "l0c_to_gm", "vector", "scalar_gm"))}
SYNCS = ("set_flag", "wait_flag", "lock", "unlock", "barrier", "cross_set", "cross_wait", "grid_arrive", "grid_wait")
TYPES = {name: i for i, name in enumerate(("bf16", "f16", "f32", "hf32", "e4m3", "e5m2", "hif8", "s8", "e2m1", "e1m2", "s32"))}
K0 = {"bf16": 16, "f16": 16, "f32": 8, "hf32": 8, "e4m3": 32, "e5m2": 32, "hif8": 32, "s8": 32, "e2m1": 64, "e1m2": 64}
VF_CLASSES = ("alu", "alu_int32", "special", "cast", "reduce", "load", "store", "permute", "gather", "mask")
VIOLATIONS = ("flag_set_twice", "never_continues", "flag_left_set")



class GmFootprint(c.Structure):
    _fields_ = [("address", c.c_uint64), ("row_stride", c.c_int64), ("outer_stride", c.c_int64), ("row_bytes", c.c_uint32),
                ("rows", c.c_uint32)]


class _Sync(c.Structure):
    _fields_ = [("other", c.c_uint8), ("id", c.c_uint8), ("targets", c.c_uint8), ("target_id", c.c_uint8 * 3),
                ("generation", c.c_uint32)]


class _Gm(c.Structure):
    _fields_ = [("gm", GmFootprint), ("local", c.c_uint32), ("outer", c.c_uint16), ("n_stride", c.c_uint16),
                ("c0_stride", c.c_uint16), ("nz_stride", c.c_uint16), ("l2_hint", c.c_uint8), ("is_write", c.c_uint8, 1)]


class _Mmad(c.Structure):
    _fields_ = [("l0a", c.c_uint32), ("l0b", c.c_uint32), ("l0c", c.c_uint32), ("bias", c.c_uint32), ("m", c.c_uint16),
                ("n", c.c_uint16), ("k", c.c_uint16), ("b_type", c.c_uint8), ("unit_flag", c.c_uint8),
                ("init", c.c_uint8, 1), ("has_bias", c.c_uint8, 1), ("mx", c.c_uint8, 1)]


class _Fix(c.Structure):
    _fields_ = [("gm", GmFootprint), ("local", c.c_uint32), ("l0c", c.c_uint32), ("m", c.c_uint16), ("n", c.c_uint16),
                ("src_stride", c.c_uint16), ("relu", c.c_uint8, 2), ("nz2nd", c.c_uint8, 1), ("nz2dn", c.c_uint8, 1),
                ("sub_block", c.c_uint8, 1), ("dual", c.c_uint8, 2), ("accumulates", c.c_uint8, 1),
                ("unit_flag", c.c_uint8, 2), ("l2_hint", c.c_uint8, 4)]


class _Vf(c.Structure):
    _fields_ = [("counts", c.c_uint32 * 10), ("calls", c.c_uint32)]


class _Payload(c.Union):
    _fields_ = [("sync", _Sync), ("gm", _Gm), ("mmad", _Mmad), ("fix", _Fix), ("vf", _Vf), ("bytes", c.c_uint8 * 48)]


class Record(c.Structure):
    _anonymous_ = ("payload",)
    _fields_ = [("op", c.c_uint16), ("pipe", c.c_uint8), ("path", c.c_uint8), ("type", c.c_uint8), ("quant", c.c_uint8),
                ("reserved", c.c_uint8 * 2), ("amount", c.c_uint32), ("site", c.c_uint32), ("payload", _Payload)]


assert c.sizeof(Record) == 64


# ---- instructions, as the replay sees them ------------------------------------------------------------------------------

def instruction(pipe: str, path: str, amount: int = 0) -> Record:
    record = Record(op=100, amount=amount)          # the replay never looks at op, except of synchronisation
    record.pipe, record.path = PIPES[pipe], PATHS[path]
    return record


def load_l0(bytes_: int, path: str = "l1_to_l0a") -> Record:
    return instruction("MTE1", path, bytes_)


def mmad(m: int, n: int, k: int, type_: str = "bf16", unit_flag: int = 0, l0c: int = 0, mx: bool = False) -> Record:
    k0 = K0[type_]
    record = instruction("M", "cube", -(-m // 16) * -(-n // 16) * -(-k // k0))
    record.type = TYPES[type_]
    record.mmad = _Mmad(m=m, n=n, k=k, b_type=TYPES[type_], unit_flag=unit_flag, l0c=l0c, mx=mx)
    return record


def fix(m: int, n: int, to: str = "l0c_to_ub", bytes_: int = 4, unit_flag: int = 0, l0c: int = 0, dual: int = 0,
        address: int = 0, hint: int = 4) -> Record:
    record = instruction("FIX", to, m * n * bytes_)
    record.fix = _Fix(GmFootprint(address, n * bytes_, 0, n * bytes_, m), l0c=l0c, m=m, n=n, src_stride=-(-m // 16) * 16,
                      nz2nd=1, unit_flag=unit_flag, dual=dual, l2_hint=hint)
    return record


def transfer(path: str, address: int, rows: int = 1, row_bytes: int = 512, row_stride: int | None = None, hint: int = 0,
             outer: int = 1, outer_stride: int = 0) -> Record:
    pipe = {"gm_to_l1": "MTE2", "gm_to_ub": "MTE2", "ub_to_gm": "MTE3"}[path]
    record = instruction(pipe, path, rows * row_bytes * outer)
    record.gm = _Gm(GmFootprint(address, row_stride or row_bytes, outer_stride, row_bytes, rows), outer=outer, l2_hint=hint,
                    is_write=path == "ub_to_gm")
    return record


def vector(calls: int = 1, **slots: int) -> Record:
    """calls=0: another phase of the instruction before."""
    record = instruction("V", "vector")
    record.vf = _Vf((c.c_uint32 * 10)(*[slots.get(name, 0) for name in VF_CLASSES]), calls)
    return record


def _sync(op: str, pipe: str, **payload) -> Record:
    record = instruction(pipe, "sync")
    record.op = SYNCS.index(op)
    record.sync = _Sync(**payload)
    return record


def set_flag(source: str, destination: str, id_: int = 0) -> Record:
    return _sync("set_flag", source, other=PIPES[destination], id=id_)


def wait_flag(source: str, destination: str, id_: int = 0) -> Record:
    return _sync("wait_flag", destination, other=PIPES[source], id=id_)


def lock(pipe: str, id_: int = 0) -> Record:
    return _sync("lock", pipe, id=id_)


def unlock(pipe: str, id_: int = 0) -> Record:
    return _sync("unlock", pipe, id=id_)


def barrier(pipe: str = "ALL") -> Record:
    return _sync("barrier", pipe)


def cross_set(pipe: str, to: str, id_: int = 0) -> Record:
    return _sync("cross_set", pipe, targets=1 << KINDS[to], target_id=(c.c_uint8 * 3)(id_, id_, id_))


def cross_wait(pipe: str, id_: int = 0) -> Record:
    return _sync("cross_wait", pipe, id=id_)


def grid_arrive(pipe: str, generation: int = 0, id_: int = 0) -> Record:
    return _sync("grid_arrive", pipe, id=id_, generation=generation)


def grid_wait(pipe: str, generation: int = 0, id_: int = 0) -> Record:
    return _sync("grid_wait", pipe, id=id_, generation=generation)


# ---- the library ----------------------------------------------------------------------------------------------------

def _load():
    library = c.CDLL(str(LIBRARY))
    pointer, double_p = c.c_void_p, c.POINTER(c.c_double)
    signatures = {
        "free": (None, [pointer]),
        "chip_new": (pointer, []), "chip_delete": (None, [pointer]),
        "chip_make": (pointer, [pointer, c.c_char_p, c.POINTER(c.c_char_p), double_p, c.c_int]),
        "chip_set": (pointer, [pointer, c.c_char_p, c.c_double]),
        "chip_get": (pointer, [pointer, c.c_char_p, double_p]),
        "chip_launch_us": (c.c_double, [pointer, c.c_int]), "chip_names": (pointer, []),
        "l2_new": (pointer, [c.c_double]), "l2_delete": (None, [pointer]), "l2_flush": (None, [pointer]),
        "l2_access": (None, [pointer, c.POINTER(GmFootprint), c.c_uint32, c.c_int, c.c_int, c.POINTER(c.c_uint64)]),
        "l2_end_fill": (None, [pointer, c.c_uint32]), "l2_holds": (c.c_int, [pointer, c.c_uint64]),
        "l2_dirty_bytes": (c.c_uint64, [pointer]),
        "trace_new": (pointer, [c.c_int, c.c_int, c.c_int]), "trace_delete": (None, [pointer]),
        "trace_append": (None, [pointer, c.c_int, c.c_int, pointer, c.c_uint64]),
        "trace_next_block": (None, [pointer, c.c_int]),
        "replay": (pointer, [pointer, pointer, pointer, c.c_int]),
        "result": (None, [pointer, double_p]), "times": (None, [pointer, c.c_int, c.c_int, double_p]),
        "pipe_use": (None, [pointer, c.c_int, c.c_int, c.c_int, double_p]),
        "violation": (None, [pointer, c.c_int, double_p]),
    }
    functions = {}
    for name, (result, arguments) in signatures.items():
        function = getattr(library, "ascend_test_" + name)
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


_functions: dict = {}


def call(name: str, *arguments):
    if not _functions:
        _functions.update(_load())
    return _functions[name](*arguments)


def _text(pointer) -> str | None:
    if not pointer:
        return None
    text = c.string_at(pointer).decode()
    call("free", pointer)
    return text


def _checked(error) -> None:
    if message := _text(error):
        raise ValueError(message)


class Chip:
    """The description built into the library, with some constants changed."""

    def __init__(self, changes: dict[str, float] | None = None):
        self.handle = call("chip_new")
        for name, value in (changes or {}).items():
            _checked(call("chip_set", self.handle, name.encode(), value))

    @classmethod
    def made_from(cls, name: str, figures: dict[str, float]) -> "Chip":
        chip = cls()
        names = (c.c_char_p * len(figures))(*[key.encode() for key in figures])
        values = (c.c_double * len(figures))(*figures.values())
        _checked(call("chip_make", chip.handle, name.encode(), names, values, len(figures)))
        return chip

    def __getitem__(self, name: str) -> float:
        value = c.c_double()
        _checked(call("chip_get", self.handle, name.encode(), c.byref(value)))
        return value.value

    def launch_us(self, blocks: int) -> float:
        return call("chip_launch_us", self.handle, blocks)

    @staticmethod
    def names() -> list[str]:
        return _text(call("chip_names")).split()

    def __del__(self):
        if hasattr(self, "handle"):
            call("chip_delete", self.handle)


class L2:
    """Tags of an L2; persists between replays."""

    def __init__(self, capacity_bytes: float = 128 * 2**20):
        self.handle = call("l2_new", capacity_bytes)

    def access(self, address: int, rows: int = 1, row_bytes: int = 512, row_stride: int | None = None, write: bool = False,
               hint: int = 0, outer: int = 1, outer_stride: int = 0) -> dict[str, int]:
        out = (c.c_uint64 * 5)()
        gm = GmFootprint(address, row_stride or row_bytes, outer_stride, row_bytes, rows)
        call("l2_access", self.handle, c.byref(gm), outer, write, hint, out)
        return dict(zip(("sectors", "missing", "writeback", "fill", "pending"), out, strict=True))

    def read(self, *args, **kwargs) -> dict[str, int]:
        """A read whose data arrive before anything else happens."""
        access = self.access(*args, **kwargs)
        if access["fill"]:
            self.end_fill(access["fill"])
        return access

    def end_fill(self, fill: int) -> None:
        call("l2_end_fill", self.handle, fill)

    def flush(self) -> None:
        call("l2_flush", self.handle)

    def holds(self, address: int) -> bool:
        return bool(call("l2_holds", self.handle, address))

    @property
    def dirty_bytes(self) -> int:
        return call("l2_dirty_bytes", self.handle)

    def __del__(self):
        if hasattr(self, "handle"):
            call("l2_delete", self.handle)


class Timed:
    """One record's times, in cycles."""

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    @property
    def cycles(self) -> float:
        return self.end - self.start

    def __repr__(self):
        return f"{self.start}..{self.end}"


class Replayed:
    """What a replay found. `of` gives the records of a core, in program order, synchronisation included."""

    FIELDS = ("cycles", "us", "launch_us", "gm_read_bytes", "gm_written_bytes", "l2_bytes", "hbm_read_bytes",
              "hbm_written_bytes", "macs")

    def __init__(self, trace, chip: Chip, l2: L2, sizes: dict):
        _checked(call("replay", trace, chip.handle, l2.handle, 1))
        out = (c.c_double * 10)()
        call("result", trace, out)
        for name, value in zip(self.FIELDS, out, strict=False):
            setattr(self, name, value)
        self.violations = []
        for i in range(int(out[9])):
            one = (c.c_double * 6)()
            call("violation", trace, i, one)
            self.violations.append({"kind": VIOLATIONS[int(one[0])], "core": int(one[1]), "of": list(KINDS)[int(one[2])],
                                    "record": int(one[3]), "at": one[4], "other": one[5]})
        self._times, self._use = {}, {}
        for (core, kind), size in sizes.items():
            times = (c.c_double * (2 * size))()
            call("times", trace, core, KINDS[kind], times)
            self._times[core, kind] = [Timed(times[2 * i], times[2 * i + 1]) for i in range(size)]
            for pipe, index in PIPES.items():
                if pipe != "ALL":
                    use = (c.c_double * 2)()
                    call("pipe_use", trace, core, KINDS[kind], index, use)
                    self._use[core, kind, pipe] = tuple(use)

    def of(self, core: int = 0, kind: str = "aic") -> list[Timed]:
        return self._times[core, kind]

    def busy(self, pipe: str, core: int = 0, kind: str = "aic") -> float:
        return self._use[core, kind, pipe][0]

    def waiting(self, pipe: str, core: int = 0, kind: str = "aic") -> float:
        return self._use[core, kind, pipe][1]


def replay(program, chip: Chip | dict | None = None, l2: L2 | None = None, blocks: int = 1) -> Replayed:
    """A program is a list of records (AIC of one core), or {(core, kind): list}, or a list of such per block of core 0."""
    chip = chip if isinstance(chip, Chip) else Chip(chip)
    l2 = l2 or L2()
    rounds = program if isinstance(program, list) and program and isinstance(program[0], dict) else [program]
    rounds = [{(0, "aic"): one} if isinstance(one, list) else one for one in rounds]
    cores = 1 + max(core for one in rounds for core, _ in one)
    trace = call("trace_new", cores, blocks, 0)
    sizes: dict = {}
    try:
        for number, one in enumerate(rounds):
            if number:
                for core in range(cores):
                    call("trace_next_block", trace, core)
            for (core, kind), records in one.items():
                array = (Record * len(records))(*records)
                call("trace_append", trace, core, KINDS[kind], c.byref(array), len(records))
                sizes[core, kind] = sizes.get((core, kind), 0) + len(records)
        return Replayed(trace, chip, l2, sizes)
    finally:
        call("trace_delete", trace)
