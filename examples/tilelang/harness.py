# SPDX-License-Identifier: MIT
"""What every TileLang example does around its kernel: run it under a profile, compare, print error and simulated time."""

import argparse

import ascend_sim
import ascend_sim.tilelang  # noqa: F401  before tilelang compiles its first kernel


def parse(description: str, **sizes: int) -> argparse.Namespace:
    """--name N for each size, and --trace FILE for a timeline."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--trace", metavar="FILE", help="write the timeline there, for https://ui.perfetto.dev")
    return parser.parse_args()


def report(name: str, run, want, tolerance: float, trace: str | None = None, flops: float = 0.0, moved_bytes: float = 0.0):
    """Runs `run`, a launch that returns its output; fails if it is further than `tolerance` (relative to the largest value) from `want`."""
    with ascend_sim.profile(timeline=trace is not None) as profile:
        got = run()
    error = ((got.cpu().double() - want.cpu().double()).abs().max() / want.double().abs().max()).item()
    (record,) = [record for record in profile.records if not record.is_estimate]
    line = f"{name}: largest error {error:.1e} of the largest value, allowed {tolerance:.0e}"
    if record.simulated_us is not None:
        line += f"; simulated {record.simulated_us:.1f} us"
        if flops:
            line += f", {flops / record.simulated_us / 1e6:.1f} TFLOP/s"
        if moved_bytes:
            line += f", {moved_bytes / record.simulated_us / 1e3:.0f} GB/s"
        line += f", busiest pipe {record.limit} {record.busy[record.limit]:.0%}"
    print(line)
    if not error <= tolerance:
        raise SystemExit(f"{name}: error {error} exceeds {tolerance}")
    if trace:
        profile.export_chrome_trace(trace)
        print(f"timeline: {trace}")
    return record
