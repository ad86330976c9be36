# SPDX-License-Identifier: MIT
"""A small TileLang program in several settings; TileLang reads its source, so it is a file of its own."""

import tilelang
import tilelang.ascend.language as T

LANES = 64


def _vector_add(n, block=1024, cores=4):
    @T.prim_func
    def vector_add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(cores) as core:
            a = T.alloc_shared((block,), "float32")
            b = T.alloc_shared((block,), "float32")
            for i in T.Persistent([n // block], cores, core):
                T.copy(A[i * block], a)
                T.copy(B[i * block], b)
                with T.SimdVF():
                    for j in T.serial(block // LANES):
                        T.simd.vsts(a[j * LANES], T.simd.vadd(T.simd.vld(a[j * LANES]), T.simd.vld(b[j * LANES])))
                T.copy(a, C[i * block])

    return vector_add


def vector_add(backend, target="ascend"):
    return tilelang.jit(_vector_add, target=target, out_idx=[2], execution_backend=backend)


def tuned_vector_add():
    configs = [{"block": block} for block in (256, 4096)]
    return tilelang.autotune(configs=configs, warmup=1, rep=2)(tilelang.jit(_vector_add, target="ascend", out_idx=[2]))


@tilelang.jit(target="ascend")
def dynamic_scale(block=512, cores=4):
    n = T.dynamic("n")

    @T.prim_func
    def dynamic_scale(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), factor: T.float32):
        with T.Kernel(cores) as core:
            x = T.alloc_shared((block,), "float32")
            for i in T.Persistent([T.ceildiv(n, block)], cores, core):
                T.copy(X[i * block], x)
                with T.SimdVF():
                    for j in T.serial(block // LANES):
                        T.simd.vsts(x[j * LANES], T.simd.vmuls(T.simd.vld(x[j * LANES]), factor))
                T.copy(x, Y[i * block])

    return dynamic_scale


@tilelang.jit(target="ascend", out_idx=[2])
def neighbours(n, dtype, operation, block=256):
    """In SIMT code, where TileLang joins neighbouring elements to small vectors."""
    @T.prim_func
    def neighbours(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(n // block) as core:
            a, b = T.alloc_shared((block,), dtype), T.alloc_shared((block,), dtype)
            T.copy(A[core * block], a)
            T.copy(B[core * block], b)
            with T.SimtVF(threads=64):
                for j in T.Parallel(block):
                    a[j] = operation(a[j], b[j])
            T.copy(a, C[core * block])

    return neighbours
