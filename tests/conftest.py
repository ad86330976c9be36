# SPDX-License-Identifier: MIT
"""What every test run says first: which copy of the packages it tests."""

import ascend_sim


def pytest_report_header(config):
    return f"ascend_sim: {ascend_sim.__file__}"
