# SPDX-License-Identifier: MIT
"""Does a GEMM on npu give the right values, and how long does it take?"""

from ascend_sim.cli.checks import Context, fault, ok

TOLERANCE = 1e-4            # products of bf16 are exact, sums are fp32: 1e-6 is usual


def gemm(context: Context):
    if not context.runs_kernels or context.ask("device").error:
        return
    answer = context.ask("self_test")
    found = answer.value
    if answer.error:
        yield fault("self test", f"a GEMM on npu failed: {answer.error}", "Kernels do not run here.", "Mend the faults above; if there are none, report this with the output of `ascend-sim info`.")
    elif not found["error"] < TOLERANCE:
        yield fault("self test", f"a GEMM on npu differs from fp32 by {found['error']:.1e}, relative to its largest value; expected below {TOLERANCE:g}", "Results are wrong here.",
                    "Try ASCEND_SIM_HOST_ISA=avx2 and =portable, and report which of them is right, with the output of `ascend-sim info`.")
    else:
        shape = " x ".join(map(str, found["shape"]))
        yield ok("self test", f"bf16 GEMM {shape} in {found['simulated_us']:.1f} us simulated, {found['host_s'] * 1e3:.0f} ms host; differs from fp32 by {found['error']:.0e}")


CHECKS = (gemm,)
