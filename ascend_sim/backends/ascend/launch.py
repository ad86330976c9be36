# SPDX-License-Identifier: MIT
"""How a launch is described to the chip: named fields of 8 bytes, made from tensors."""

from ascend_sim import chips, config
from ascend_sim.backends import settings

_printed: set[str] = set()      # what DG_PRINT_CONFIGS has shown
_ADDRESSES = {"a", "b", "d", "sfa", "sfb", "src", "dst", "psum", "sf"}


def launch(kernel: str, like, fields: dict) -> None:
    """Runs an ahead-of-time kernel on the device and current stream of the tensor `like`."""
    import torch

    from ascend_sim import _C
    device = like.device.index or 0
    stream = torch.npu.current_stream(device).stream_id
    if not config.print_configs():
        _C.launch(kernel, device, stream, fields)
        return
    import ascend_sim
    with ascend_sim.profile(timeline=False) as profile:
        _C.launch(kernel, device, stream, fields)
    _print_config(profile.records[-1], fields)


def _print_config(record, fields: dict) -> None:
    if not record.detail:           # the kernel has nothing to choose
        return
    if fields.get("cores") == 0:    # all of the chip's
        fields = fields | {"cores": int(chips.chosen()["cores.ai_cores"])}
    problem = ", ".join(f"{name}={value}" for name, value in fields.items() if name not in _ADDRESSES)
    text = f"{record.name}({problem}): {record.detail}"
    if text not in _printed:
        _printed.add(text)
        print(text)


def gemm_fields(a, b, d, accumulate: bool, alpha: float | None) -> dict:
    """The fields common to the dense GEMMs; a [m, k], b [n, k], d [m, n] with a unit stride each."""
    return {
        "a": a.data_ptr(), "b": b.data_ptr(), "d": d.data_ptr(),
        "m": a.shape[0], "n": b.shape[0], "k": a.shape[1],
        "a_row_stride": a.stride(0), "a_col_stride": a.stride(1),
        "b_row_stride": b.stride(0), "b_col_stride": b.stride(1),
        "d_row_stride": d.stride(0),
        "d_is_fp32": int(d.element_size() == 4), "accumulate": int(accumulate),
        "alpha": 1.0 if alpha is None else float(alpha), "cores": settings.deep_gemm.num_sms,
    }
