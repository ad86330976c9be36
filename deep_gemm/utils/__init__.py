# SPDX-License-Identifier: MIT
"""Helpers of the CUDA library, also reachable as deep_gemm.<name>: casts (`math`), alignments (`layout`), process groups (`dist`)."""

from deep_gemm.utils import dist, layout, math
from deep_gemm.utils.dist import *  # noqa: F403
from deep_gemm.utils.layout import *  # noqa: F403
from deep_gemm.utils.math import *  # noqa: F403

__all__ = [*math.__all__, *layout.__all__, *dist.__all__]
