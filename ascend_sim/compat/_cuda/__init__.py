# SPDX-License-Identifier: MIT
"""The stand-in `cuda`: torch.cuda and the device "cuda" mean npu.

Nothing of PyTorch's C++ changes. Python callables that take a device are replaced by ones that first say npu where cuda was said, and those of
torch.cuda by torch.npu's. Tensors are npu tensors and say so. What that leaves broken: docs/compat.md, "What stays different".
"""

import contextlib
import functools
import sys

import torch

from ascend_sim.compat._cuda.patches import Patches
from ascend_sim.npu import dynamo as npu_dynamo

_patches: Patches | None = None


def real_cuda() -> str | None:
    """The name of a real CUDA device, if there is one. Never asks torch.cuda's own functions, which may be replaced."""
    count = getattr(torch._C, "_cuda_getDeviceCount", lambda: 0)()
    return f"{count} CUDA device{'s' * (count > 1)}" if count else None


def install() -> str | None:
    """The reason to step aside, or None."""
    global _patches
    found = real_cuda()
    if found:
        return f'PyTorch has {found}; "cuda" keeps meaning that.'
    if _patches is None:
        _patches = _patched()
    return None


@contextlib.contextmanager
def redirected():
    """Installed for the block; put back afterwards unless it had been installed before. Raises: RuntimeError where a real CUDA device is."""
    global _patches
    if _patches is not None:
        yield
        return
    reason = install()
    if reason is not None:
        raise RuntimeError(f"ascend_sim.compat.cuda_as_npu: {reason}")
    try:
        yield
    finally:
        _patches.undo()
        _patches = None


def _patched() -> Patches:
    from ascend_sim.compat._cuda import devices, distributed, module
    patches = Patches()
    try:
        for part in (devices, module, distributed):
            part.patch(patches)
    except BaseException:
        patches.undo()
        raise
    _compiled_functions_ask_is_cuda()
    replaced = patches.replaced()
    patches.on_undo(lambda: _dynamo_looks_anew(replaced))
    _dynamo_looks_anew(replaced)
    return patches


@functools.cache
def _compiled_functions_ask_is_cuda() -> None:
    """Dynamo answers x.is_cuda by itself, from when it is loaded: as long as the stand-in is installed, true of npu tensors."""
    def teach(module):
        original = module.TensorVariable.method_attr_is_cuda

        def method_attr_is_cuda(self, tx):
            if _patches is not None and self.device is not None and self.device.type == "npu":
                return module.ConstantVariable.create(True)
            return original(self, tx)
        module.TensorVariable.method_attr_is_cuda = method_attr_is_cuda

    npu_dynamo.when_imported("torch._dynamo.variables.tensor", teach)


def _dynamo_looks_anew(replaced: list[tuple]) -> None:
    """Dynamo, if it is loaded already, keeps tables of PyTorch's functions as they were when it was, and some are others now."""
    rules, variables = sys.modules.get("torch._dynamo.trace_rules"), sys.modules.get("torch._dynamo.variables.torch")
    if rules is None or variables is None:
        return
    rules.clear_lru_cache()
    variables.TorchInGraphFunctionVariable._get_handlers.cache_clear()
    for before, now in replaced:
        for table in (variables.constant_fold_functions, variables.constant_fold_functions_need_guards):
            if before in table or now in table:
                table[before] = table[now] = None
