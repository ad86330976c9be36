# SPDX-License-Identifier: MIT
"""Helpers for tests and benchmarks, of both originals: simulated kernel times (`bench`), comparisons (`numeric`), odds and ends (`utils`).

Every time that comes out of here is simulated device time; host time never mixes in.
"""

from deep_gemm.testing import bench as _bench
from deep_gemm.testing import numeric as _numeric
from deep_gemm.testing import utils as _utils
from deep_gemm.testing.bench import *  # noqa: F403
from deep_gemm.testing.numeric import *  # noqa: F403
from deep_gemm.testing.utils import *  # noqa: F403

__all__ = [*_bench.__all__, *_numeric.__all__, *_utils.__all__]
