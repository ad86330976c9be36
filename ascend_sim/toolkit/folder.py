# SPDX-License-Identifier: MIT
"""Where does TileLang find a toolkit? A folder with bin/bisheng, bin/ld.lld, lib64/libascendcl.so and include, made when first needed.

It belongs to one interpreter and one copy of this package, because its programs start exactly these.
"""

import shlex
import sys
from pathlib import Path

from ascend_sim import config
from ascend_sim.jit import disk_cache, host_compiler

_PROGRAMS = {"bisheng": "bisheng", "ld.lld": "ld_lld"}


def path() -> Path:
    """The folder; made if it is not there. RuntimeError if it cannot be written."""
    root = host_compiler.PACKAGE.parent
    scripts = {
        program: "#!/bin/sh\n" + "exec " + shlex.join([
            sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); from ascend_sim.toolkit.{module} import main; sys.exit(main())",
        ]) + ' "$@"\n'
        for program, module in _PROGRAMS.items()
    }
    headers, library = host_compiler.include_folders()[0], host_compiler.LIBRARY.with_name("libascendcl.so")
    name = disk_cache.key("toolkit", tuple(scripts.items()), str(headers), str(library))

    def make(at: Path) -> None:
        (at / "bin").mkdir()
        for program, text in scripts.items():
            (at / "bin" / program).write_text(text)
            (at / "bin" / program).chmod(0o755)
        (at / "lib64").mkdir()
        (at / "lib64" / library.name).symlink_to(library)
        (at / "include").symlink_to(headers)
    return disk_cache.entry(name, make, config.cache_dir() / "toolkit")
