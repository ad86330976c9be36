# SPDX-License-Identifier: MIT
"""Names of torch.npu that code may import, for what is not emulated: using one raises NotImplementedError and says which."""


def _function(name: str):
    def unsupported(*arguments, **named_arguments):
        raise NotImplementedError(f"torch.npu.{name} is not emulated.")
    unsupported.__name__ = unsupported.__qualname__ = name
    unsupported.__doc__ = f"Not emulated: raises NotImplementedError naming torch.npu.{name}."
    return unsupported


# Of the hardware itself.
stress_detect, npurt = _function("stress_detect"), _function("npurt")
