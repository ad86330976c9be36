# SPDX-License-Identifier: MIT
"""Which raw files would the real profiler have left? Those that TileLang's `msprof` timing reads, from the records of simulated launches.

In little-endian 64-bit words, as tilelang/profiler/msprof.py takes them: a task is 8 words (3: its number in bits 32 to 47; 5: hash of its name); a
profile of one kind of core 16 (0: the task's number, likewise; 1: cycles; 2: vector cores from 2^31; 4 to 9 and 12: cycles of pipes; 14, 15: begin and
end in ns). Each name has one number: nothing else is looked up by it.
"""

import struct
from pathlib import Path

_WORD_OF_PIPE = {"V": 4, "M": 5, "S": 6, "MTE1": 7, "MTE2": 8, "MTE3": 9, "FIX": 12}


def write(folder: Path, records) -> None:
    """records: ascend_sim.profiler.LaunchRecord. RuntimeError if they have no times (functional mode)."""
    numbers, profiles = {}, b""
    for record in records:
        if record.simulated_us is None:
            raise RuntimeError(f"torch_npu.profiler: {record.name} has no simulated time; ASCEND_SIM_MODE is functional, expected full or timing.")
        number = numbers.setdefault(record.name, len(numbers) + 1)
        begin_ns = round(record.start_us * 1000)
        kinds = [(0, record.aic)] * bool(record.cube_cores) + [(2**31, record.aiv)] * bool(record.vector_cores or not record.cube_cores)
        for kind, pipes in kinds:
            words = [0] * 16
            words[:3] = number << 32, max(round(record.cycles), 1), kind
            for pipe, use in pipes.items():
                words[_WORD_OF_PIPE[pipe]] = round(use.busy * record.cycles)
            words[14:] = begin_ns, begin_ns + round(record.simulated_us * 1000)
            profiles += struct.pack("<16q", *words)
    tasks = b"".join(struct.pack("<8q", 0, 0, 0, number << 32, 0, number, 0, 0) for number in numbers.values())
    (folder / "hash_dic.slice_0").write_text("".join(f"{number}:{name}\n" for name, number in numbers.items()))
    (folder / "task_track.slice_0").write_bytes(tasks)
    (folder / "ffts_profile.slice_0").write_bytes(profiles)
