# SPDX-License-Identifier: MIT
"""TileLang on the emulated chip: with this imported, `@tilelang.jit(target="ascend")` programs compile and run on npu tensors.

    import ascend_sim.tilelang          # or ASCEND_SIM_SHIMS=toolkit

Nothing of TileLang is changed. It is told where its compiler is (BISHENG_HOME, ASCEND_HOME_PATH), and finds libascendcl.so and
torch_npu loaded already. docs/tilelang.md leads from installation to a timeline.
"""

import functools


@functools.cache
def enable() -> None:
    """Makes this process compile and run TileLang's Ascend programs on the emulated chip. Called by importing this module; again does nothing.

    BISHENG_HOME and ASCEND_HOME_PATH are set unless they are set already. A host compiler is looked for when the first kernel is compiled.
    Raises: RuntimeError if the cache folder cannot be written (ASCEND_SIM_CACHE_DIR).
    """
    import ascend_sim.npu  # noqa: F401  the device, if torch did not load it by itself
    from ascend_sim import compat, config
    from ascend_sim.toolkit import folder, runtime

    config.announce_toolkit(folder.path())
    runtime.attach()
    compat.install("torch_npu", "davinci")


enable()
