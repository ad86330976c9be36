# SPDX-License-Identifier: MIT
"""TileLang on the emulated chip: so far the rewrite of its generated source."""
