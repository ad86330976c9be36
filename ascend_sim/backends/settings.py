# SPDX-License-Identifier: MIT
"""What a library's setters (deep_gemm.set_num_sms, ...) leave for the backends to read. Process-wide, as in the real libraries."""

from dataclasses import dataclass


@dataclass
class DeepGemm:
    num_sms: int = 0                # 0: all the device's cores
    npu_arch: int = 0               # 0: the device's own
    deterministic: bool = False
    tc_util: int = 0                # CUDA's, without effect, as is pdl
    pdl: bool = False
    mk_alignment: int = 128         # of the backend cuda; Ascend's is fixed
    dry_run: bool = False           # checks only: nothing is launched, outputs are left untouched


deep_gemm = DeepGemm()
