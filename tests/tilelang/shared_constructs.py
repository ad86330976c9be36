# SPDX-License-Identifier: MIT
"""A program of the constructs that TileLang has for all targets and its Ascend code generator knows; test_shared_constructs.py says what each gives."""

import tilelang
import tilelang.ascend.language as T


@tilelang.jit(target="ascend")
def thread_values(lanes=64):
    @T.prim_func
    def thread_values(
        X: T.Tensor((lanes,), "int32"),
        F: T.Tensor((4, lanes), "float32"),
        IO: T.Tensor((9, lanes), "int32"),
        FO: T.Tensor((9, lanes), "float32"),
        Totals: T.Tensor((3,), "int32"),
    ):
        with T.Kernel(1):
            x = T.alloc_shared((lanes,), "int32")
            f = T.alloc_shared((4, lanes), "float32")
            io = T.alloc_shared((9, lanes), "int32")
            fo = T.alloc_shared((9, lanes), "float32")
            counts = T.alloc_shared((8,), "int32")
            T.copy(X, x)
            T.copy(F, f)
            with T.SimtVF(threads=lanes):
                lane = T.get_thread_binding()
                own = T.alloc_local((2,), "int32")
                own[0] = x[lane]
                own[1] = T.clamp(own[0], -5, 5)
                io[0, lane] = own[1]
                io[1, lane] = T.warp_reduce_sum(own[0])
                io[2, lane] = T.warp_reduce_max(own[0])
                io[3, lane] = T.warp_reduce_min(own[0])
                io[4, lane] = T.cast(T.ballot(own[0] > 0), "int32")
                io[5, lane] = T.cast(T.ballot_sync(own[0] > 0, 0xFFFF), "int32")
                io[6, lane] = 0
                if lane % 3 == 0:
                    io[6, lane] = T.cast(T.activemask(), "int32")
                T.sync_warp()
                if lane == 0:
                    counts[0] = 100
                T.sync_threads()
                io[7, lane] = T.atomic_add(counts[0], 1, return_prev=True)
                io[8, lane] = T.max(T.min(own[0], 7), lane)
                T.atomic_add(Totals[0], own[0])
                T.atomic_max(Totals[1], own[0])
                T.atomic_min(Totals[2], own[0])
            with T.SimtVF(threads=lanes):
                part = T.alloc_fragment((4, lanes), "float32")
                total = T.alloc_fragment((4, lanes), "float32")
                T.copy(f, part)
                T.fill(total, 2.0)
                for i, j in T.Parallel(4, lanes):
                    total[i, j] = total[i, j] + T.if_then_else(part[i, j] > 0, part[i, j], 0)
                T.copy(total, fo[0:4, :])
                T.clear(total)
                T.copy(total, fo[4:8, :])
                sums = T.alloc_reducer((lanes,), "float32", op="sum")
                columns = T.alloc_fragment((lanes,), "float32")
                T.reducer_init(sums, 1.0)
                for i, j in T.Parallel(4, lanes):
                    T.reducer_update(sums[j], f[i, j])
                T.finalize_reducer(sums, columns)
                T.copy(columns, fo[8, :])
            T.copy(io, IO)
            flat = T.reshape(fo, (9 * lanes,))
            T.copy(flat, T.view(FO, (9 * lanes,)))

    return thread_values
