# SPDX-License-Identifier: MIT
"""Programs on vector cores for constructs that constructs.py leaves; test_vector_constructs.py says what each gives."""

import tilelang
import tilelang.ascend.language as T

S = T.simd
BY_HAND = {tilelang.PassConfigKey.TL_ENABLE_AUTO_SCHEDULE: False}     # no scheduler: the program places the synchronisation


@tilelang.jit(target="ascend")
def more_simd_values():
    @T.prim_func
    def more_simd_values(
        F: T.Tensor((4, 64), "float32"),
        U: T.Tensor((4, 64), "uint32"),
        P: T.Tensor((4, 13), "float32"),
        FO: T.Tensor((22, 64), "float32"),
        UO: T.Tensor((8, 64), "uint32"),
        HO: T.Tensor((2, 128), "uint16"),
        PO: T.Tensor((4, 16), "float32"),
    ):
        with T.Kernel(1):
            f = T.alloc_shared((4, 64), "float32")
            u = T.alloc_shared((4, 64), "uint32")
            fo = T.alloc_shared((22, 64), "float32")
            uo = T.alloc_shared((8, 64), "uint32")
            ho = T.alloc_shared((2, 128), "uint16")
            padded = T.alloc_shared((4, 16), "float32")
            T.copy(F, f)
            T.copy(U, u)
            T.ascend_set_copy_pad_value(2.5, dtype="float32")
            T.copy(P[0:4, 0:13], padded[0:4, 0:13], data_select=True)
            with T.SimdVF():
                x, y, z = S.vld(f[0, 0]), S.vld(f[1, 0]), S.vld(f[2, 0])
                p, q, places, amounts = S.vld(u[0, 0]), S.vld(u[1, 0]), S.vld(u[2, 0]), S.vld(u[3, 0])
                zero, one = S.vdup(0, "uint32"), S.vdup(1, "uint32")
                every = S.pset(32, "PAT_ALL")
                S.vsts(fo[0, 0], S.vmin(x, y))
                S.vsts(fo[1, 0], S.vmins(x, T.float32(0.25)))
                S.vsts(fo[2, 0], S.vneg(x))
                grown, scaled = S.alloc_var("float32"), S.alloc_var("float32")
                grown = S.vld(f[0, 0])
                S.vmadd(grown, y, z)
                S.vsts(fo[3, 0], grown)
                scaled = S.vld(f[2, 0])
                S.vaxpy(scaled, x, T.float32(1.5))
                S.vsts(fo[4, 0], scaled)
                S.vsts(fo[5, 0], S.vcgadd(x))
                S.vsts(fo[6, 0], S.vcgmax(x))
                S.vsts(fo[7, 0], S.vcmin(x))
                low, high = S.vintlv(x, y)
                S.vsts(fo[8, 0], low)
                S.vsts(fo[9, 0], high)
                even, odd = S.vdintlv(x, y)
                S.vsts(fo[10, 0], even)
                S.vsts(fo[11, 0], odd)
                S.vsts(fo[12, 0], S.vsel(x, y, S.vcmp(x, y, op="le")))
                S.vsts(fo[13, 0], S.vgather2(f[0, 0], places))
                S.vscatter(x, fo[14, 0], places)
                evens, odds = S.vld2(f[2, 0], dist="DINTLV_B32")
                S.vsts(fo[15, 0], evens)
                S.vsts(fo[16, 0], odds)
                S.vsts(fo[17, 0], S.vselr(x, places))
                positive = S.vcmps(x, 0.0, op="gt")
                S.vsts(fo[18, 0], S.vsqz(x, positive))
                source = S.make_ubuf_ptr(T.access_ptr(f[0, 0], "r", extent=128), "float32")
                target = S.make_ubuf_ptr(T.access_ptr(fo[20, 0], "w", extent=128), "float32")
                first, source = S.vld(source, post_inc=64)
                second, source = S.vld(source, post_inc=64)
                S.vsts(fo[19, 0], S.vsub(first, second))
                target = S.vsstb(first, target, (1 << 16) | 8, every, update=True)
                target = S.vsstb(second, target, (1 << 16) | 8, every, update=True)

                S.vsts(uo[0, 0], S.vand(p, q))
                S.vsts(uo[1, 0], S.vor(p, q))
                S.vsts(uo[2, 0], S.vxor(p, q))
                S.vsts(uo[3, 0], S.vshl(p, T.reinterpret(amounts, "int32x64")))
                S.vsts(uo[4, 0], S.vshr(p, T.reinterpret(amounts, "int32x64")))
                first20 = S.update_mask(T.uint32(20), 32)
                S.vsts(uo[5, 0], S.vsel(one, zero, S.pand(positive, first20, every)))
                S.vsts(uo[6, 0], S.vsel(one, zero, S.pnot(positive, first20)))
                S.vsts(uo[7, 0], S.vsel(one, zero, S.pxor(positive, first20, every)))
                packed = S.vpack(p, 0)
                S.vsts(ho[0, 0], packed, dist="NORM_B16")
                S.vsts(ho[1, 0], S.vpack(q, 1), dist="NORM_B16")
            T.copy(fo, FO)
            T.copy(uo, UO)
            T.copy(ho, HO)
            T.copy(padded, PO)

    return more_simd_values


@tilelang.jit(target="ascend")
def bit_reductions(dim=0, rows=8, cols=64, threads=32):
    """Along dim 0 each thread has whole columns. Along dim 1 threads must meet, for which tilelang 0.1.15 has no operator."""
    left = cols if dim == 0 else rows

    @T.prim_func
    def bit_reductions(I: T.Tensor((rows, cols), "int32"), IO: T.Tensor((4, left), "int32")):
        with T.Kernel(1):
            i = T.alloc_shared((rows, cols), "int32")
            io = T.alloc_shared((4, left), "int32")
            T.copy(I, i)
            with T.SimtVF(threads=threads):
                ints = T.alloc_fragment((rows, cols), "int32")
                bits = T.alloc_fragment((left,), "int32")
                T.copy(i, ints)
                T.reduce_bitand(ints, bits, dim=dim)
                T.copy(bits, io[0, :])
                T.reduce_bitor(ints, bits, dim=dim)
                T.copy(bits, io[1, :])
                T.reduce_bitxor(ints, bits, dim=dim)
                T.copy(bits, io[2, :])
                T.reduce(ints, bits, "sum", dim, True)
                T.copy(bits, io[3, :])
            T.copy(io, IO)

    return bit_reductions


@tilelang.jit(target="ascend")
def simd_sums(rows=8, cols=64):
    @T.prim_func
    def simd_sums(X: T.Tensor((rows, cols), "float32"), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(1):
            x = T.alloc_shared((rows, cols), "float32")
            y = T.alloc_shared((rows,), "float32")
            T.copy(X, x)
            with T.SimdVF():
                T.reduce(x, y, "sum", 1, True)
            T.copy(y, Y)

    return simd_sums


@tilelang.jit(target="ascend")
def random_words(cores=2, lanes=64, words=6):
    @T.prim_func
    def random_words(seed: T.int32, U: T.Tensor((cores, words, lanes), "uint32"), F: T.Tensor((cores, lanes), "float32")):
        with T.Kernel(cores) as core:
            u = T.alloc_shared((words, lanes), "uint32")
            f = T.alloc_shared((lanes,), "float32")
            with T.SimtVF(threads=lanes):
                lane = T.get_thread_binding()
                T.rng_init(seed)
                for i in T.unroll(words, unroll_factor=2):
                    u[i, lane] = T.rng_rand()
                f[lane] = T.rng_rand_float()
            T.copy(u, U[core, :, :])
            T.copy(f, F[core, :])

    return random_words


@tilelang.jit(target="ascend")
def hinted_copies(rows=12, cols=64):
    """Y = 2 X and W = 3 X row by row, with every hint to the scheduler that a copy can carry."""
    @T.prim_func
    def hinted_copies(X: T.Tensor((rows, cols), "float32"), Y: T.Tensor((rows, cols), "float32"), W: T.Tensor((rows, cols), "float32")):
        with T.Kernel(1):
            x = T.alloc_shared((cols,), "float32")
            y = T.alloc_shared((cols,), "float32")
            ring = T.alloc_shared((2, cols), "float32")
            T.annotate_buffer_versions({x: (2, "iteration"), y: 2})
            T.annotate_manual_multi_buffer(ring)
            T.annotate_unlimit_memory("shared")
            for row in T.Pipelined(rows, num_stages=2, annotations={"enable_offset": True}):
                with T.Stage(0):
                    with T.Task(latency=200, ii=100):
                        T.copy(X[row, 0:cols], x)
                with T.Stage(1), T.SimdVF():
                    S.vsts(y[0], S.vmuls(S.vld(x[0]), T.float32(2)))
                with T.Stage(2):
                    T.copy(y, Y[row, 0:cols])
            for row in T.serial(rows):
                T.assume_no_conflict(W[row, 0:cols], level=0, cross=True)
                T.assume_conflict(ring[row % 2, 0:cols], level=0)
                T.copy(X[row, 0:cols], ring[row % 2, 0:cols])
                with T.SimdVF():
                    S.vsts(ring[row % 2, 0], S.vmuls(S.vld(ring[row % 2, 0]), T.float32(3)))
                T.copy(ring[row % 2, 0:cols], W[row, 0:cols])

    return hinted_copies


@tilelang.jit(target="ascend", pass_configs=BY_HAND)
def schedules(cores=3, m=5, n=9, batches=2, groups=3, steps=64):
    """Which tile each core takes when, per scheduler: (m, n, ..) in tiles of 16 x 16; AscendTileScheduler in elements."""
    @T.prim_func
    def schedules(MEnds: T.Tensor((groups,), "int32"), KEnds: T.Tensor((groups,), "int32"), Out: T.Tensor((4, cores, steps, 8), "int32")):
        with T.Kernel(cores) as core:
            table = T.alloc_shared((4, steps, 8), "int32")
            count = T.alloc_var("int32")
            plain = T.AscendTileScheduler(block_m=16, block_n=16, num_cores=cores, shape_m=m * 16 - 3, shape_n=n * 16)
            batched = T.AscendBatchedTileScheduler(block_m=16, block_n=16, num_cores=cores, shape_m=m * 16, shape_n=n * 16, num_groups=batches)
            by_m = T.AscendMGroupedTileScheduler(block_m=16, block_n=16, num_cores=cores, shape_m=m * 16, shape_n=n * 16, grouped_layout=MEnds,
                                                 num_groups=groups, alignment=32)
            by_k = T.AscendKGroupedTileScheduler(block_m=16, block_n=16, num_cores=cores, shape_m=m * 16, shape_n=n * 16, shape_k=512,
                                                 grouped_layout=KEnds, num_groups=groups, alignment=64, group_m=8, snake=False)
            with T.SimdVF():
                for i in T.serial(4 * steps * 8 // 64):
                    S.vsts(table[0, i * 8, 0], S.vdup(-1, "int32"))
            T.ascend_set_flag("V_S", 0)
            T.ascend_wait_flag("V_S", 0)
            plain.init(core)
            count = 0
            while plain.valid():
                row, col, height, width = plain.tile()
                table[0, count, 0] = row
                table[0, count, 1] = col
                table[0, count, 2] = height
                table[0, count, 3] = width
                count += 1
                plain.next_block()
            batched.init(core)
            count = 0
            while batched.valid():
                table[1, count, 0] = batched.m_idx
                table[1, count, 1] = batched.n_idx
                table[1, count, 2] = batched.batch()
                count += 1
                batched.next_block()
            by_m.init(core)
            count = 0
            while by_m.valid():
                table[2, count, 0] = by_m.m_idx
                table[2, count, 1] = by_m.n_idx
                table[2, count, 2] = by_m.group()
                count += 1
                by_m.next_block()
            by_k.init(core)
            count = 0
            while by_k.valid():
                group, k_base, group_k, sf_base = by_k.group()
                table[3, count, 0] = by_k.m_idx
                table[3, count, 1] = by_k.n_idx
                table[3, count, 2] = group
                table[3, count, 3] = k_base
                table[3, count, 4] = group_k
                table[3, count, 5] = sf_base
                count += 1
                by_k.next_block()
            T.ascend_pipe_barrier("PIPE_ALL")
            for scheduler in T.serial(4):
                T.copy(table[scheduler, :, :], Out[scheduler, core, :, :])

    return schedules
