# SPDX-License-Identifier: MIT
"""`python -m ascend_sim` is the command `ascend-sim`."""

import sys

from ascend_sim.cli import main

if __name__ == "__main__":
    sys.exit(main())
