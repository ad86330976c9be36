# SPDX-License-Identifier: MIT
"""What works here although DeepGEMM-Ascend 0.1.0 refuses or lacks it. Every such call is reported under one of these kinds, and docs/parity.md
is made from them (scripts/make_parity_page.py)."""

from dataclasses import dataclass

from ascend_sim import parity


@dataclass(frozen=True)
class Difference:
    functions: str      # which report it
    cuda: str           # what DeepGEMM 2.6.1 does
    ascend: str         # what DeepGEMM-Ascend 0.1.0 does
    here: str           # what happens here, on the backends ascend and torch


_HELPERS = "`ceil_div`, `align`, `ceil_to_ue8m0`, the casts and packers of `deep_gemm.utils`; `testing.calc_diff`, `count_bytes`, `bench`, `bench_kineto`"

DIFFERENCES = {
    "gran_k 128": Difference(
        "`fp8_fp4_gemm_*`, `transform_sf_into_required_layout`", "SM90: 128 only; SM100: 32 or 128, each operand its own",
        "refuses: the chip applies one scale to 32 elements of k",
        "a vector-core kernel repeats each scale for its four blocks of 32: the same numbers"),
    "int32 scales": Difference(
        "`fp8_fp4_gemm_*`, `transform_sf_into_required_layout`", "SM100: four UE8M0 exponents an int32", "refuses: fp32 or int16 pairs",
        "a vector-core kernel repacks them as int16 pairs: the same numbers; any stride with one unit stride"),
    "fp32 scales": Difference(
        "`fp8_fp4_gemm_*`, `transform_sf_into_required_layout`",
        "SM90 multiplies by any fp32 scale of 128 elements of k; so does `disable_ue8m0_cast=True` there",
        "refuses: a scale is a power of two",
        "a vector-core kernel applies the scales and splits the products into two bf16 parts, which one bf16 GEMM of three times the k multiplies; "
        "a product is right up to 2^-16 of it. FP8 x FP8, K-major, gran_k 128, scales up to 2^118 in size. The transform returns such scales as they are"),
    "default recipe": Difference(
        "`fp8_fp4_gemm_*`", "without a recipe: (1, 128, 128) if sfb is fp32, (1, 1, 128) if it is int32", "without a recipe: (1, 1, 32)",
        "CUDA's if only that fits the shapes of the scales; where both fit they mean the same"),
    "FP4 x FP8": Difference(
        "`fp8_fp4_gemm_*`", "SM100 multiplies it", "refuses: Unsupported operand dtypes",
        "a vector-core kernel expands a to FP8 in memory, which is exact"),
    "two-number recipe": Difference(
        "`transform_sf_into_required_layout`", "(gran_mn, gran_k) without `is_sfa`", "refuses: three numbers and `is_sfa`", "taken"),
    "ambiguous major": Difference(
        "all GEMMs", "two unit strides are K-major (d, c: N-major)", "refuses a tensor whose last two strides are both 1", "as on CUDA"),
    "float4_e2m1fn_x2": Difference("`fp8_fp4_gemm_*`, `aclnn_fp8_fp4_gemm_*`", "FP4 is int8", "FP4 is int8", "taken as int8 with the same bytes"),
    "num_sms 0": Difference("`set_num_sms`", "0 means all", "refuses: at least 1", "0 means all"),
    "expected_m": Difference("`get_theoretical_mk_alignment_for_contiguous_layout`", "a hint, by which the alignment varies", "takes no argument",
                             "taken, without effect"),
    "hints": Difference("`set_tc_util`, `set_pdl`, `set_ignore_compile_dims`, `set_block_size_multiple_of`", "hints to its kernels", "are not there",
                        "kept, without effect"),
    "helpers": Difference(_HELPERS, "helpers in plain PyTorch", "are not there (its tests have some of their own)", "are there"),
    "TMA layouts": Difference(
        "`get_tma_aligned_size`, `get_mn_major_tma_aligned_tensor`, `get_mn_major_tma_aligned_packed_ue8m0_tensor`, "
        "`get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor`",
        "scales as its kernels read them", "are not there", "the same layouts, bit by bit; GEMMs here take them as fp32 or int32 scales"),
    "skip head mid": Difference(
        "`fp8_gemm_nt_skip_head_mid`", "a GEMM whose D has unwritten columns in the middle of each head", "is not there",
        "the GEMM, then a copy of its columns to their places"),
}


def report_helper(function: str) -> None:
    """Once for all of them: a helper is no operation of the chip."""
    parity.differs(function, "helpers", "only the CUDA library's package has such helpers; a port to Ascend brings its own.", per_function=False)
