# SPDX-License-Identifier: MIT
"""TileLang programs that end in a message, for docs/tilelang.md, and some that its Ascend target does not take. TileLang reads their source."""

import tilelang
import tilelang.ascend.language as T

N = 1024


@tilelang.jit(target="ascend", out_idx=[2])
def half_loaded():
    @T.prim_func
    def half_loaded(A: T.Tensor((128, 64), "bfloat16"), B: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((128, 128), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_l1((128, 64), "bfloat16"), T.alloc_l1((128, 64), "bfloat16")
            c = T.alloc_l0c((128, 128), "float32")
            T.copy(A[0:64, 0:64], a[0:64, 0:64])
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)
    return half_loaded


@tilelang.jit(target="ascend", out_idx=[1])
def lost_flag():
    @T.prim_func
    def lost_flag(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(2):
            a = T.alloc_shared((N,), "float32")
            T.copy(A, a)
            T.ascend_set_flag("MTE2_MTE3", 1)
            T.ascend_wait_flag("MTE2_MTE3", 2)
            T.copy(a, C)
    return lost_flag


@tilelang.jit(target="ascend", out_idx=[1])
def checked():
    @T.prim_func
    def checked(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((N,), "float32")
            T.copy(A, a)
            with T.SimtVF(threads=64):
                for i in T.Parallel(N):
                    T.device_assert(a[i] < 100.0, "too large")
                    a[i] = a[i] + 1.0
            T.copy(a, C)
    return checked


@tilelang.jit(target="ascend", out_idx=[1])
def endless():
    @T.prim_func
    def endless(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((N,), "float32")
            T.copy(A, a)
            with T.SimtVF(threads=64):
                t = T.get_thread_binding(0)
                while a[0] < 10.0:
                    a[t + 1] = a[t + 1] + 1.0
            T.copy(a, C)
    return endless


# ---- not in the target of 0.1.15 -------------------------------------------------------------------------------------


@tilelang.jit(target="ascend", out_idx=[1])
def cumsum():
    @T.prim_func
    def cumsum(A: T.Tensor((8, 128), "float32"), C: T.Tensor((8, 128), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 128), "float32")
            T.copy(A, a)
            with T.SimtVF(threads=128):
                T.cumsum(a, dim=1)
            T.copy(a, C)
    return cumsum


@tilelang.jit(target="ascend", out_idx=[1])
def shuffle(name):
    function = getattr(T, name)

    @T.prim_func
    def shuffle(A: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((32,), "float32")
            T.copy(A, a)
            with T.SimtVF(threads=32):
                t = T.get_thread_binding(0)
                a[t] = function(a[t], 1)
            T.copy(a, C)
    return shuffle


@tilelang.jit(target="ascend", out_idx=[2])
def gemm(dtype, transpose_a, transpose_b):
    @T.prim_func
    def gemm(A: T.Tensor((128, 128), dtype), B: T.Tensor((128, 128), dtype), C: T.Tensor((128, 128), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_l1((128, 128), dtype), T.alloc_l1((128, 128), dtype)
            c = T.alloc_l0c((128, 128), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=transpose_a, transpose_B=transpose_b, clear_accum=True)
            T.copy(c, C)
    return gemm


@tilelang.jit(target="ascend", out_idx=[1])
def row_sums(columns):
    @T.prim_func
    def row_sums(A: T.Tensor((4, columns), "float32"), C: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, columns), "float32")
            c = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            with T.SimtVF(threads=128):
                rows = T.alloc_fragment((4, columns), "float32")
                sums = T.alloc_fragment((4,), "float32")
                T.copy(a, rows)
                T.reduce_sum(rows, sums, dim=1)
                T.copy(sums, c[0:4])
            T.copy(c[0:4], C)
    return row_sums


@tilelang.jit(target="ascend")
def grid_barrier():
    @T.prim_func
    def grid_barrier(C: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            c = T.alloc_shared((N,), "float32")
            T.sync_grid()
            T.copy(c, C)
    return grid_barrier


@tilelang.jit(target="ascend")
def early_end():
    @T.prim_func
    def early_end(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "int32")):
        with T.Kernel(1), T.SimtVF(threads=32):
            for i in T.serial(N):
                if A[i] > 1:
                    C[0] = i
                    T.loop_break()
    return early_end


@tilelang.jit(target="ascend")
def unnamed_mask():
    @T.prim_func
    def unnamed_mask(C: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            c = T.alloc_shared((N,), "float32")
            with T.SimdVF():
                for i in T.serial(N // 64):
                    T.simd.vsts(c[i * 64], T.simd.vdup(T.float32(1), "float32"), T.simd.pset(32, "PAT_ALL"))
            T.copy(c, C)
    return unnamed_mask


@tilelang.jit(target="ascend")
def narrow():
    @T.prim_func
    def narrow(A: T.Tensor((512,), "int8"), C: T.Tensor((512,), "float32")):
        with T.Kernel(1):
            a, c = T.alloc_shared((512,), "int8"), T.alloc_shared((512,), "float32")
            T.copy(A, a)
            with T.SimtVF(threads=128):
                for i in T.Parallel(512):
                    c[i] = T.cast(a[i], "float32") * 0.5
            T.copy(c, C)
    return narrow


@tilelang.jit(target="ascend", out_idx=[1])
def converted(dtype, to):
    @T.prim_func
    def converted(A: T.Tensor((512,), dtype), C: T.Tensor((512,), to)):
        with T.Kernel(1):
            a, c = T.alloc_shared((512,), dtype), T.alloc_shared((512,), to)
            T.copy(A, a)
            with T.SimtVF(threads=128):
                for i in T.Parallel(512):
                    c[i] = T.cast(a[i], to)
            T.copy(c, C)
    return converted


@tilelang.jit(target="ascend", out_idx=[1])
def converted_one_by_one(dtype, to):
    """The same elements, none beside the other in a thread."""
    @T.prim_func
    def converted_one_by_one(A: T.Tensor((512,), dtype), C: T.Tensor((512,), to)):
        with T.Kernel(1):
            a, c = T.alloc_shared((512,), dtype), T.alloc_shared((512,), to)
            T.copy(A, a)
            with T.SimtVF(threads=128):
                for j in T.serial(4):
                    c[j * 128 + T.get_thread_binding()] = T.cast(a[j * 128 + T.get_thread_binding()], to)
            T.copy(c, C)
    return converted_one_by_one


def copied(dtype, backend):
    def make():
        @T.prim_func
        def copied(A: T.Tensor((512,), dtype), C: T.Tensor((512,), dtype), F: T.Tensor((64,), "float32"), number: T.float32):
            with T.Kernel(1):
                a, f = T.alloc_shared((512,), dtype), T.alloc_shared((64,), "float32")
                T.copy(A, a)
                T.copy(a, C)
                with T.SimdVF():
                    T.simd.vsts(f[0], T.simd.vdup(number, "float32"))
                T.copy(f, F)
        return copied
    return tilelang.jit(make, target="ascend", execution_backend=backend)()


@tilelang.jit(target="ascend")
def short_number(dtype):
    @T.prim_func
    def short_number(C: T.Tensor((8,), "float32"), number: dtype):
        with T.Kernel(1):
            C[0] = T.cast(number, "float32")
    return short_number


@tilelang.jit(target="ascend", out_idx=[1])
def narrowed(saturating):
    @T.prim_func
    def narrowed(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "bfloat16")):
        with T.Kernel(1):
            a, c = T.alloc_shared((64,), "float32"), T.alloc_shared((64,), "bfloat16")
            T.copy(A, a)
            with T.SimdVF():
                T.simd.vsts(c[0], T.simd.vcvt(T.simd.vld(a[0]), "bfloat16", sat=saturating), dist="PK_B32")
            T.copy(c, C)
    return narrowed


@tilelang.jit(target="ascend", out_idx=[1])
def doubled_codes():
    @T.prim_func
    def doubled_codes(A: T.Tensor((256,), "float8_e4m3fn"), C: T.Tensor((256,), "float8_e4m3fn")):
        with T.Kernel(1):
            a = T.alloc_shared((256,), "float8_e4m3fn")
            T.copy(A, a)
            with T.SimdVF():
                T.simd.vsts(a[0], T.simd.vadd(T.simd.vld(a[0]), T.simd.vld(a[0])), dist="NORM_B8")
            T.copy(a, C)
    return doubled_codes


@tilelang.jit(target="ascend", out_idx=[1])
def doubling(other):
    """Prefix sums between the two rows of a buffer."""
    @T.prim_func
    def doubling(A: T.Tensor((256,), "int32"), C: T.Tensor((256,), "int32")):
        with T.Kernel(1):
            a = T.alloc_shared((2, 256), "int32")
            T.copy(A, a[0, 0:256])
            with T.SimtVF(threads=256):
                t = T.get_thread_binding()
                for j in T.serial(8):
                    a[other(j), t] = a[j % 2, t] + T.if_then_else(t >= 1 << j, a[j % 2, t - (1 << j)], 0)
                    T.sync_threads()
            T.copy(a[0, 0:256], C)
    return doubling


@tilelang.jit(target="ascend", out_idx=[1])
def reversed_by_some(n, together):
    """The first n of 256 threads read what others of them wrote; together: all meet in between."""
    @T.prim_func
    def reversed_by_some(A: T.Tensor((n,), "int32"), C: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((256,), "int32"), T.alloc_shared((256,), "int32")
            T.copy(A, a[0:n])
            with T.SimtVF(threads=256):
                t = T.get_thread_binding()
                if together:
                    if t < n:
                        b[n - 1 - t] = a[t]
                    T.sync_threads()
                    if t < n:
                        a[t] = b[t]
                else:
                    if t < n:
                        b[n - 1 - t] = a[t]
                        a[t] = b[t]
            T.copy(a[0:n], C)
    return reversed_by_some


@tilelang.jit(target="ascend")
def atomic(dtype):
    @T.prim_func
    def atomic(A: T.Tensor((512,), dtype), C: T.Tensor((512,), dtype)):
        with T.Kernel(1), T.SimtVF(threads=128):
            for i in T.Parallel(512):
                T.atomic_add(C[i], A[i])
    return atomic


def shifted(clipped):
    """A copy that begins `shift` elements into its tensor."""
    configs = {} if clipped else {"tl.disable_safe_memory_legalize": True}

    @tilelang.jit(target="ascend", out_idx=[2], pass_configs=configs)
    def make():
        @T.prim_func
        def shifted(A: T.Tensor((N,), "float32"), S: T.Tensor((8,), "int32"), C: T.Tensor((N,), "float32")):
            with T.Kernel(1):
                a = T.alloc_shared((N,), "float32")
                T.copy(A, a)
                shift = S[0]
                T.copy(A[shift:shift + N], a[0:N])
                T.copy(a, C)
        return shifted
    return make()


def picked(clipped):
    configs = {} if clipped else {"tl.disable_safe_memory_legalize": True}

    @tilelang.jit(target="ascend", out_idx=[2], pass_configs=configs)
    def make():
        @T.prim_func
        def picked(A: T.Tensor((N,), "float32"), I: T.Tensor((N,), "int32"), C: T.Tensor((N,), "float32")):  # noqa: E741
            with T.Kernel(1):
                c, index = T.alloc_shared((N,), "float32"), T.alloc_shared((N,), "int32")
                T.copy(I, index)
                with T.SimtVF(threads=128):
                    for i in T.Parallel(N):
                        c[i] = A[index[i]]
                T.copy(c, C)
        return picked
    return make()


@tilelang.jit(target="ascend", out_idx=[1])
def row_too_many():
    @T.prim_func
    def row_too_many(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((N,), "float32")
            T.copy(A, a)
            with T.SimdVF():
                for j in T.serial(N // 64 + 1):
                    T.simd.vsts(a[j * 64], T.simd.vdup(1.0, "float32"))
            T.copy(a, C)
    return row_too_many


@tilelang.jit(target="ascend")
def rounds(tiles, by_quotient, cores=4):
    """Each core adds 1 to every fourth row, from its own number on."""
    @T.prim_func
    def rounds(C: T.Tensor((tiles, 64), "float32")):
        with T.Kernel(cores) as core:
            one = T.alloc_shared((64,), "float32")
            with T.SimdVF():
                T.simd.vsts(one[0], T.simd.vdup(T.float32(1), "float32"))
            T.set_atomic("add", "float32")
            if by_quotient:
                for i in T.serial(T.ceildiv(tiles - core, cores)):
                    if core + i * cores < tiles:
                        T.copy(one, C[T.min(core + i * cores, tiles - 1), 0:64])
            else:
                for i in T.serial(core, tiles, cores):
                    T.copy(one, C[i, 0:64])
            T.set_atomic_none()
    return rounds


@tilelang.jit(target="ascend")
def short_rows(k):
    """Some rows of a tile in L1, whose columns may end within it."""
    @T.prim_func
    def short_rows(A: T.Tensor((64, k), "bfloat16"), L: T.Tensor((8,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            a = T.alloc_l1((64, 64), "bfloat16")
            c = T.alloc_l0c((64, 64), "float32")
            for i in T.serial(T.ceildiv(k, 64)):
                T.copy(A[0 : L[0], i * 64 : i * 64 + 64], a[0 : L[0], 0:64])
                T.gemm(a, a, c, transpose_B=True, clear_accum=(i == 0))
            T.copy(c, C)
    return short_rows


@tilelang.jit(target="ascend")
def l1_and_l0():
    """A product from L1 and one from buffers of the program's own in L0."""
    @T.prim_func
    def l1_and_l0(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            a = T.alloc_l1((64, 64), "bfloat16")
            left, right = T.alloc_l0a((64, 64), "bfloat16"), T.alloc_l0b((64, 64), "bfloat16")
            c = T.alloc_l0c((64, 64), "float32")
            T.copy(A, a)
            T.copy(a, left)
            T.copy(a, right)
            T.gemm(left, right, c, transpose_B=True, clear_accum=True)
            T.gemm(a, a, c, transpose_B=True)
            T.copy(c, C)
    return l1_and_l0


@tilelang.jit(target="ascend")
def met():
    """Vector cores store V, all meet, cube cores load all of it."""
    @T.prim_func
    def met(A: T.Tensor((128, 64), "bfloat16"), V: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.MixedKernel(2, sids=2) as (core, sid):
            own = T.alloc_shared((32, 64), "bfloat16")
            a = T.alloc_l1((64, 64), "bfloat16")
            c = T.alloc_l0c((64, 64), "float32")
            row = core * 64 + sid * 32
            T.copy(A[row : row + 32, 0:64], own)
            T.copy(own, V[row : row + 32, 0:64])
            T.ascend_sync_inter_arrive("PIPE_MTE3", 0)
            T.ascend_sync_inter_wait("PIPE_MTE3", 0)
            T.copy(V[64 - core * 64 : 128 - core * 64, 0:64], a)
            T.gemm(a, a, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)
    return met
