# SPDX-License-Identifier: MIT
"""How a launch is described to the chip: named fields of 8 bytes, made from tensors."""

from ascend_sim.backends import settings


def launch(kernel: str, like, fields: dict) -> None:
    """Runs an ahead-of-time kernel on the device and current stream of the tensor `like`."""
    import torch

    from ascend_sim import _C
    device = like.device.index or 0
    _C.launch(kernel, device, torch.npu.current_stream(device).stream_id, fields)


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
