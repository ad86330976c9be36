# SPDX-License-Identifier: MIT
"""How far are simulated times of deep_gemm from the published ones? One line a published row, L2 cold, groups with their median.

    python benchmarks/bench_deep_gemm.py            the table
    python benchmarks/bench_deep_gemm.py --json     the same as JSON on stdout
    python benchmarks/bench_deep_gemm.py --full     computes the values too (minutes); simulated times are the same

Group "M=128 or N=576" is limited by memory or by too few tiles, not by the cube, and is stated apart for that reason.
"""

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "deep_gemm"), str(Path(__file__).parent)]

import ascend_sim  # noqa: E402
import bf16_gemm  # noqa: E402
import fp8_fp4_gemm  # noqa: E402
import report  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--full", action="store_true", help="full mode instead of timing mode")
    arguments = parser.parse_args()
    rows = bf16_gemm.ROWS + fp8_fp4_gemm.ROWS
    order = ["peak", "others", "M=128 or N=576"]
    rows.sort(key=lambda row: (order.index(row.group), row.run is None))
    with ascend_sim.mode("full" if arguments.full else "timing"):
        results = report.run(rows)
    print(report.as_json(results) if arguments.json else report.table(results))


if __name__ == "__main__":
    main()
