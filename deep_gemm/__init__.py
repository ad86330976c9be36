# SPDX-License-Identifier: MIT
"""deep_gemm for an Ascend 950, emulated or not there at all: the names and signatures of DeepGEMM-Ascend 0.1.0.

Importing it touches no device and imports nothing heavy besides torch. `testing` is loaded when first asked for.
Rules shared by all functions: docs/deep_gemm.md. Which names exist so far, against both originals: docs/deep_gemm.md, "Parity".
"""

import importlib

from deep_gemm import _C, _not_yet, epilogue, locality_domain, utils  # noqa: F401
from deep_gemm.aclnn_gemm import *  # noqa: F403
from deep_gemm.aclnn_gemm import __all__ as _aclnn_gemm_names
from deep_gemm.bf16_gemm import *  # noqa: F403
from deep_gemm.bf16_gemm import __all__ as _bf16_gemm_names
from deep_gemm.fp8_fp4_gemm import *  # noqa: F403
from deep_gemm.fp8_fp4_gemm import __all__ as _fp8_fp4_gemm_names
from deep_gemm.locality_domain import *  # noqa: F403
from deep_gemm.locality_domain import __all__ as _locality_domain_names
from deep_gemm.runtime import *  # noqa: F403
from deep_gemm.runtime import __all__ as _runtime_names
from deep_gemm.transform_sf import *  # noqa: F403
from deep_gemm.transform_sf import __all__ as _transform_sf_names
from deep_gemm.utils import *  # noqa: F403
from deep_gemm.utils import __all__ as _utils_names

__version__ = "0.1.0"

_SUBMODULES = ("testing",)
__all__ = sorted({
    *_aclnn_gemm_names, *_bf16_gemm_names, *_fp8_fp4_gemm_names, *_transform_sf_names, *_runtime_names, *_locality_domain_names, *_utils_names,
    "epilogue", "locality_domain", "utils",
})


def __getattr__(name: str):
    if name in _SUBMODULES:
        return importlib.import_module(f"deep_gemm.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'deep_gemm' has no attribute {name!r}")
    known = _not_yet.message("deep_gemm", name)
    if known is not None:
        raise AttributeError(known)
    import difflib
    near = difflib.get_close_matches(name, __all__, n=3)
    raise AttributeError(
        f"module 'deep_gemm' has no attribute {name!r}, nor have DeepGEMM 2.6.1 and DeepGEMM-Ascend 0.1.0."
        + (f" Near it: {', '.join(near)}." if near else "") + f" There are: {', '.join((*__all__, *_SUBMODULES))}."
    )


def __dir__():
    return sorted({*globals(), *_SUBMODULES})
