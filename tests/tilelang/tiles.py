# SPDX-License-Identifier: MIT
"""Programs whose tensors, groups and sequences end within a tile; test_tiles.py says what each gives."""

import math

import tilelang
import tilelang.ascend.language as T


@tilelang.jit(target="ascend", out_idx=[4])
def mx_gemm(m, n, k, block=64, block_k=128, cores=8):
    dtype = "float8_e4m3fn"

    @T.prim_func
    def mx_gemm(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((n, k), dtype),
        SA: T.Tensor((m, k // 64), "uint16"),
        SB: T.Tensor((n, k // 64), "uint16"),
        C: T.Tensor((m, n), "bfloat16"),
    ):
        with T.Kernel(cores) as core:
            a, b = T.alloc_l1((block, block_k), dtype), T.alloc_l1((block, block_k), dtype)
            sa, sb = T.alloc_l1((block, block_k // 64), "uint16"), T.alloc_l1((block, block_k // 64), "uint16")
            c = T.alloc_l0c((block, block), "float32")
            for i, j in T.Persistent([T.ceildiv(m, block), T.ceildiv(n, block)], cores, core):
                for q in T.Pipelined(k // block_k, num_stages=2):
                    T.copy(A[i * block, q * block_k], a)
                    T.copy(B[j * block, q * block_k], b)
                    T.copy(SA[i * block, q * (block_k // 64)], sa)
                    T.copy(SB[j * block, q * (block_k // 64)], sb)
                    T.gemm_blockscaled(a, b, c, sa, sb, transpose_B=True, clear_accum=(q == 0))
                T.copy(c, C[i * block : i * block + block, j * block : j * block + block])

    return mx_gemm


@tilelang.jit(target="ascend", out_idx=[3])
def groups_from_l1(tiles, groups, n, k, block=64, cores=8):
    """Tile t, rows [t, 0] and [t, 1] more of A, times matrix [t, 2]: whole tiles are multiplied and go to UB, the rows of the tile are stored."""
    m = T.dynamic("m")
    half = block // 2

    @T.prim_func
    def groups_from_l1(
        A: T.Tensor((m, k), "bfloat16"),
        B: T.Tensor((groups, n, k), "bfloat16"),
        Tiles: T.Tensor((tiles, 3), "int32"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.MixedKernel(cores, sids=2) as (core, sid):
            a, b = T.alloc_l1((block, 64), "bfloat16"), T.alloc_l1((block, 64), "bfloat16")
            c = T.alloc_l0c((block, block), "float32")
            own = T.alloc_shared((half, block), "float32")
            for t in T.Persistent([tiles], cores, core):
                row, rows, g = Tiles[t, 0], Tiles[t, 1], Tiles[t, 2]
                for q in T.serial(T.ceildiv(k, 64)):
                    T.copy(A[row : row + rows, q * 64 : q * 64 + 64], a[0:rows, 0:64])
                    T.copy(B[g, 0:block, q * 64 : q * 64 + 64], b)
                    T.gemm(a, b, c, transpose_B=True, clear_accum=(q == 0))
                T.dual_copy(c, own)
                mine = T.max(T.min(rows - sid * half, half), 0)
                if mine > 0:
                    first = row + sid * half
                    T.copy(own[0:mine, 0:block], C[first : first + mine, 0:block])

    return groups_from_l1


@tilelang.jit(target="ascend", out_idx=[3])
def groups_from_l0(tiles, groups, n, k, block=64, cores=8):
    """The same; only the rows of the tile are multiplied."""
    m = T.dynamic("m")

    @T.prim_func
    def groups_from_l0(
        A: T.Tensor((m, k), "bfloat16"),
        B: T.Tensor((groups, n, k), "bfloat16"),
        Tiles: T.Tensor((tiles, 3), "int32"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(cores) as core:
            a, b = T.alloc_l1((block, 64), "bfloat16"), T.alloc_l1((block, 64), "bfloat16")
            a_l0, b_l0 = T.alloc_l0a((block, 64), "bfloat16"), T.alloc_l0b((block, 64), "bfloat16")
            c = T.alloc_l0c((block, block), "float32")
            for t in T.Persistent([tiles], cores, core):
                row, rows, g = Tiles[t, 0], Tiles[t, 1], Tiles[t, 2]
                for q in T.serial(T.ceildiv(k, 64)):
                    T.copy(A[row : row + rows, q * 64 : q * 64 + 64], a[0:rows, 0:64])
                    T.copy(B[g, 0:block, q * 64 : q * 64 + 64], b)
                    T.copy(a[0:rows, 0:64], a_l0[0:rows, 0:64])
                    T.copy(b, b_l0)
                    T.gemm(a_l0[0:rows, 0:64], b_l0, c[0:rows, 0:block], transpose_B=True, clear_accum=(q == 0))
                T.copy(c[0:rows, 0:block], C[row : row + rows, 0:block])

    return groups_from_l0


@tilelang.jit(target="ascend", out_idx=[1])
def transposed(m, n, dtype, block=32, cores=64):
    @T.prim_func
    def transposed(X: T.Tensor((m, n), dtype), Y: T.Tensor((n, m), dtype)):
        with T.Kernel(cores) as core:
            a, b = T.alloc_shared((block, block), dtype), T.alloc_shared((block, block), dtype)
            for i, j in T.Persistent([T.ceildiv(m, block), T.ceildiv(n, block)], cores, core):
                T.copy(X[i * block, j * block], a)
                with T.SimtVF(threads=128):
                    for r, c in T.Parallel(block, block):
                        b[r, c] = a[c, r]
                T.copy(b, Y[j * block, i * block])

    return transposed


@tilelang.jit(target="ascend", out_idx=[7])
def paged_attention(batch, heads, group, dim, pages, page, most, window, splits=2, cores=8):
    """Decoding: the heads of a group share keys, which a table names page by page; a window; keys are split, and the parts merged."""
    rows, half = 32, 16
    scale = 1.0 / math.sqrt(dim)

    @T.prim_func
    def paged_attention(
        Q: T.Tensor((batch, heads, group, dim), "bfloat16"),
        K: T.Tensor((pages, heads, page, dim), "bfloat16"),
        V: T.Tensor((pages, heads, page, dim), "bfloat16"),
        Table: T.Tensor((batch, most), "int32"),
        Length: T.Tensor((batch,), "int32"),
        Part: T.Tensor((batch, heads, splits, rows, dim), "float32"),
        Sum: T.Tensor((batch, heads, splits, rows), "float32"),
        O: T.Tensor((batch, heads, group, dim), "float32"),
    ):
        with T.MixedKernel(cores, sids=2) as (core, sid):
            q, k, v = T.alloc_l1((rows, dim), "bfloat16"), T.alloc_l1((page, dim), "bfloat16"), T.alloc_l1((page, dim), "bfloat16")
            p_l1 = T.alloc_l1((rows, page), "bfloat16")
            q_l0, k_l0 = T.alloc_l0a((rows, dim), "bfloat16"), T.alloc_l0b((page, dim), "bfloat16")
            p_l0, v_l0 = T.alloc_l0a((rows, page), "bfloat16"), T.alloc_l0b((page, dim), "bfloat16")
            s_l0c, o_l0c = T.alloc_l0c((rows, page), "float32"), T.alloc_l0c((rows, dim), "float32")
            s, p = T.alloc_shared((half, page), "float32"), T.alloc_shared((half, page), "bfloat16")
            pv, acc = T.alloc_shared((half, dim), "float32"), T.alloc_shared((half, dim), "float32")
            top, total = T.alloc_shared((half,), "float32"), T.alloc_shared((half,), "float32")
            for b, h, part in T.Persistent([batch, heads, splits], cores, core):
                T.copy(Q[b, h, 0:rows, 0:dim], q)       # rows beyond the group are of other heads, or zero at the tensor's end
                T.copy(q, q_l0)
                with T.SimtVF(threads=128):
                    for i in T.Parallel(half):
                        top[i] = -1e30
                        total[i] = 0.0
                    for i, j in T.Parallel(half, dim):
                        acc[i, j] = 0.0
                length = Length[b]
                first = T.max(length - window, 0)
                begin, end = first // page, T.ceildiv(length, page)
                each = T.ceildiv(end - begin, splits)
                for n in T.serial(begin + part * each, T.min(begin + part * each + each, end)):
                    at = Table[b, n]
                    T.copy(K[at, h, 0:page, 0:dim], k)
                    T.copy(V[at, h, 0:page, 0:dim], v)
                    T.copy(k, k_l0)
                    T.gemm(q_l0, k_l0, s_l0c, transpose_B=True, clear_accum=True)
                    T.dual_copy(s_l0c, s)
                    with T.SimtVF(threads=128):
                        f = T.alloc_fragment((half, page), "float32")
                        high = T.alloc_fragment((half,), "float32")
                        sums = T.alloc_fragment((half,), "float32")
                        shrink = T.alloc_fragment((half,), "float32")
                        for i, j in T.Parallel(half, page):
                            f[i, j] = T.if_then_else(n * page + j < length and n * page + j >= first, s[i, j] * scale, -1e30)
                        T.reduce_max(f, high, dim=1)
                        for i in T.Parallel(half):
                            high[i] = T.max(high[i], top[i])
                            shrink[i] = T.exp(top[i] - high[i])
                        for i, j in T.Parallel(half, page):
                            f[i, j] = T.exp(f[i, j] - high[i])
                        T.reduce_sum(f, sums, dim=1)
                        for i in T.Parallel(half):
                            total[i] = total[i] * shrink[i] + sums[i]
                            top[i] = high[i]
                        for i, j in T.Parallel(half, page):
                            p[i, j] = f[i, j]
                        for i, j in T.Parallel(half, dim):
                            acc[i, j] = acc[i, j] * shrink[i]
                    T.dual_copy(p, p_l1)
                    T.copy(p_l1, p_l0)
                    T.copy(v, v_l0)
                    T.gemm(p_l0, v_l0, o_l0c, clear_accum=True)
                    T.dual_copy(o_l0c, pv)
                    with T.SimtVF(threads=128):
                        for i, j in T.Parallel(half, dim):
                            acc[i, j] = acc[i, j] + pv[i, j]
                with T.SimtVF(threads=128):
                    for i, j in T.Parallel(half, dim):
                        acc[i, j] = T.if_then_else(total[i] > 0, acc[i, j] / total[i], 0.0)
                    for i in T.Parallel(half):
                        top[i] = T.if_then_else(total[i] > 0, top[i] + T.log(total[i]), -1e30)
                T.dual_copy(acc, Part[b, h, part, 0:rows, 0:dim])
                T.copy(top, Sum[b, h, part, sid * half : sid * half + half])
            T.ascend_sync_inter_arrive("PIPE_MTE3", 0)      # every part is stored
            T.ascend_sync_inter_wait("PIPE_V", 0)
            for b, h in T.Persistent([batch, heads], cores, core):
                with T.SimtVF(threads=128):
                    for i, j in T.Parallel(half, dim):
                        if sid * half + i < group:
                            row = sid * half + i
                            high, weight, out = T.alloc_var("float32"), T.alloc_var("float32"), T.alloc_var("float32")
                            high = -1e30
                            weight = 0.0
                            out = 0.0
                            for part in T.serial(splits):
                                high = T.max(high, Sum[b, h, part, row])
                            for part in T.serial(splits):
                                weight = weight + T.exp(Sum[b, h, part, row] - high)
                                out = out + T.exp(Sum[b, h, part, row] - high) * Part[b, h, part, row, j]
                            O[b, h, row, j] = out / weight

    return paged_attention


@tilelang.jit(target="ascend", out_idx=[2])
def quotients(n, block=128):
    """Threads behind the end of the tensors divide what nobody has loaded."""
    @T.prim_func
    def quotients(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32"), C: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, block)) as core:
            a, b, c = (T.alloc_shared((block,), "int32") for _ in range(3))
            T.copy(A[core * block], a)
            T.copy(B[core * block], b)
            with T.SimtVF(threads=64):
                for i in T.Parallel(block):
                    c[i] = T.truncdiv(a[i], b[i]) + T.truncmod(a[i], b[i])
            T.copy(c, C[core * block])

    return quotients


@tilelang.jit(target="ascend")
def packed_attention(heads, groups, dim, window, block=64, cores=16):
    """Sequences one behind the other, causal, a window, a sink per head, heads that share keys. Queries behind the end of a sequence are computed from what
    nobody loaded, and go through L1; keys behind it are not there either, in the operand that is transposed."""
    tokens, tiles = T.dynamic("tokens"), T.dynamic("tiles")
    half, scale = block // 2, 1.0 / math.sqrt(dim)
    @T.prim_func
    def packed_attention(
        Q: T.Tensor((tokens, heads, dim), "bfloat16"),
        K: T.Tensor((tokens, groups, dim), "bfloat16"),
        V: T.Tensor((tokens, groups, dim), "bfloat16"),
        Tiles: T.Tensor((tiles, 3), "int32"),
        Sink: T.Tensor((heads,), "float32"),
        O: T.Tensor((tokens, heads, dim), "bfloat16"),
    ):
        with T.MixedKernel(cores, sids=2) as (core, sid):
            q, k, v = T.alloc_l1((block, dim), "bfloat16"), T.alloc_l1((block, dim), "bfloat16"), T.alloc_l1((block, dim), "bfloat16")
            p1 = T.alloc_l1((block, block), "bfloat16")
            q0, k0 = T.alloc_l0a((block, dim), "bfloat16"), T.alloc_l0b((block, dim), "bfloat16")
            p0, v0 = T.alloc_l0a((block, block), "bfloat16"), T.alloc_l0b((block, dim), "bfloat16")
            sc, oc = T.alloc_l0c((block, block), "float32"), T.alloc_l0c((block, dim), "float32")
            s, p = T.alloc_shared((half, block), "float32"), T.alloc_shared((half, block), "bfloat16")
            pv, acc = T.alloc_shared((half, dim), "float32"), T.alloc_shared((half, dim), "float32")
            out = T.alloc_shared((half, dim), "bfloat16")
            top, total = T.alloc_shared((half,), "float32"), T.alloc_shared((half,), "float32")
            for t, h in T.Persistent([tiles, heads], cores, core):
                start, row, end = Tiles[t, 0], Tiles[t, 1], Tiles[t, 2]     # first token of the sequence, first query of the tile, end of the sequence
                rows = T.min(end - row, block)
                T.copy(Q[row : row + rows, h, 0:dim], q[0:rows, 0:dim])
                T.copy(q, q0)
                with T.SimtVF(threads=128):
                    for i in T.Parallel(half):
                        top[i] = Sink[h]
                        total[i] = 1.0
                    for i, d in T.Parallel(half, dim):
                        acc[i, d] = 0.0
                first = T.max(row - window + 1, start)
                for n in T.serial(T.ceildiv(row + rows - first, block)):
                    at = first + n * block
                    keys = T.min(end - at, block)
                    T.copy(K[at : at + keys, h // (heads // groups), 0:dim], k[0:keys, 0:dim])
                    T.copy(V[at : at + keys, h // (heads // groups), 0:dim], v[0:keys, 0:dim])
                    T.copy(k, k0)
                    T.gemm(q0, k0, sc, transpose_B=True, clear_accum=True)
                    T.dual_copy(sc, s)
                    with T.SimtVF(threads=128):
                        f = T.alloc_fragment((half, block), "float32")
                        high, sums, shrink = T.alloc_fragment((half,), "float32"), T.alloc_fragment((half,), "float32"), T.alloc_fragment((half,), "float32")
                        for i, j in T.Parallel(half, block):
                            me = row + sid * half + i
                            f[i, j] = T.if_then_else(at + j <= me and at + j > me - window and at + j < end, s[i, j] * scale, -1e30)
                        T.reduce_max(f, high, dim=1)
                        for i in T.Parallel(half):
                            high[i] = T.max(high[i], top[i])
                            shrink[i] = T.exp(top[i] - high[i])
                        for i, j in T.Parallel(half, block):
                            f[i, j] = T.exp(f[i, j] - high[i])
                        T.reduce_sum(f, sums, dim=1)
                        for i in T.Parallel(half):
                            total[i] = total[i] * shrink[i] + sums[i]
                            top[i] = high[i]
                        for i, j in T.Parallel(half, block):
                            p[i, j] = f[i, j]
                        for i, d in T.Parallel(half, dim):
                            acc[i, d] = acc[i, d] * shrink[i]
                    T.dual_copy(p, p1)
                    T.copy(p1, p0)
                    T.copy(v, v0)
                    T.gemm(p0[0:block, 0:keys], v0[0:keys, 0:dim], oc, clear_accum=True)
                    T.dual_copy(oc, pv)
                    with T.SimtVF(threads=128):
                        for i, d in T.Parallel(half, dim):
                            acc[i, d] = acc[i, d] + pv[i, d]
                with T.SimtVF(threads=128):
                    for i, d in T.Parallel(half, dim):
                        out[i, d] = acc[i, d] / total[i]
                mine = T.max(T.min(rows - sid * half, half), 0)
                if mine > 0:
                    T.copy(out[0:mine, 0:dim], O[row + sid * half : row + sid * half + mine, h, 0:dim])
    return packed_attention
