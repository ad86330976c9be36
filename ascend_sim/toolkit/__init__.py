# SPDX-License-Identifier: MIT
"""What stands in for the vendor's toolkit: a compiler and a linker for TileLang to call, and the runtime interface it launches through.

TileLang knows of none of this. It runs `bisheng` and `ld.lld` from the folder that BISHENG_HOME names (bisheng.py, ld_lld.py;
folder.py makes that folder), keeps the result, a container (container.py), and hands it to libascendcl.so
(csrc/toolkit/acl.cpp), which asks runtime.py for the kernels in it. So what TileLang keeps on disk is text, never machine
code: it stays valid when this package, its compiler or the host changes.

bisheng runs in a process of its own for each kernel: nothing here but runtime.py may import torch.
"""
