# SPDX-License-Identifier: MIT
"""What every test run says first: which copy of the packages it tests. In the checkout, where nothing is installed, it loads the device."""

import importlib.util

import ascend_sim
import torch


def pytest_configure(config):
    is_built = importlib.util.find_spec("ascend_sim._C") and importlib.util.find_spec("ascend_sim._autoload")
    if is_built and not hasattr(torch, "npu"):
        from ascend_sim import _autoload
        _autoload.autoload()


def pytest_report_header(config):
    return f"ascend_sim: {ascend_sim.__file__}"
