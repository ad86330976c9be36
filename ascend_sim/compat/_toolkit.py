# SPDX-License-Identifier: MIT
"""The stand-in `toolkit`: what `import ascend_sim.tilelang` does."""


def install() -> str | None:
    import ascend_sim.tilelang
    ascend_sim.tilelang.enable()
    return None
