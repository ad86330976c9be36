# SPDX-License-Identifier: MIT
"""Clients take seconds to import: they are not even collected unless asked for (-m clients)."""


def pytest_ignore_collect(collection_path, config):
    return True if collection_path.suffix == ".py" and "not clients" in config.getoption("markexpr", "") else None
