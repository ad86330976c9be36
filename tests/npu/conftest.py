# SPDX-License-Identifier: MIT
"""What the tests of the device share: a clean state."""

import pytest
import torch


@pytest.fixture(autouse=True)
def device_zero_and_default_stream():
    """Each test starts on npu:0 and its default stream, whatever the one before left."""
    yield
    for index in reversed(range(torch.npu.device_count())):
        torch.npu.set_stream(torch.npu.default_stream(index))
