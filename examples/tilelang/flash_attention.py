# SPDX-License-Identifier: MIT
"""Attention forward without the matrix of scores in global memory: O = softmax(Q K^T / sqrt(d)) V per head; bf16, fp32 inside.

Two cores share each step over 128 keys, and TileLang overlaps the steps (`T.Pipelined` with `enable_offset`): while the vector cores
work on the scores of one block of keys, the cube multiplies those of the next blocks and P V of the last.

    cube      S^T[keys, queries] = K Q^T          L0C, FIX gives each vector core its half of the queries
    vector    P^T = exp(S^T / sqrt(d) - top)      UB, MTE3 brings it to L1
    cube      P V[queries, dim]                   L0C, FIX gives each vector core its half of the queries
    vector    acc = acc * shrink + P V            UB

Scores are computed transposed: 64 queries are the 64 lanes of a register, so a running maximum or sum is a register, and nothing is
reduced across lanes or broadcast. P^T is written in the order that L1 wants, two keys a register.

What a step of 128 keys and 128 queries costs each pipe, in cycles; docs/tilelang.md compares with the timeline:

    M     2 * 128 * 128 * 128 / 4096 = 1024          MTE1  128 (K) + 128 (P^T) + 256 (V, transposed) + 3 * 3 = 521
    V     maximum 128, exponentials 64 * 8 = 512,    FIX   2 * 64 KiB / 256 B + 2 * 2 = 516
          acc 64 * 3.5 = 224, two calls 70: 934      MTE2  64 KiB / 100 B = 655    MTE3  16 KiB / 128 B = 128

    python examples/tilelang/flash_attention.py --heads 1 --queries 4096 --keys 4096 [--causal 1]
"""

import math

import tilelang
import tilelang.ascend.language as T
import torch
from harness import SizeError, expect, main, multiples, report
from tilelang.layout import make_ascend_compact_nz_layout

CORES = 32
LANES = 64
BLOCK = 128             # queries of a tile, keys of a step
ROWS = BLOCK // 2       # queries of a vector core, a lane each
HALF = BLOCK // 2       # keys; a register of P^T holds keys i and i + HALF
NEVER = -1e30           # a score that no key has


@tilelang.jit(target="ascend", out_idx=[3])
def attention(heads, queries, keys, dim=128, causal=False, cores=CORES):
    """q [heads, queries, dim], k and v [heads, keys, dim] -> [heads, queries, dim], bf16. Any lengths; dim is 64 or 128.

    causal: query i sees the keys up to i + keys - queries; keys >= queries then.
    """
    expect("attention", heads=(heads, multiples()), queries=(queries, multiples()), keys=(keys, multiples()), dim=(dim, range(64, 129, 64)))
    if causal not in (0, 1):
        raise SizeError(f"attention: causal is {causal!r}; expected 0 or 1")
    if causal and keys < queries:
        raise SizeError(f"attention: {queries} queries and {keys} keys; causal needs keys >= queries, so that each query sees a key")
    tiles_q = -(-queries // BLOCK)
    scale = 1.0 / math.sqrt(dim)
    shift = keys - queries
    masked = causal or keys % BLOCK != 0

    @T.prim_func
    def attention(
        Q: T.Tensor((heads, queries, dim), "bfloat16"),
        K: T.Tensor((heads, keys, dim), "bfloat16"),
        V: T.Tensor((heads, keys, dim), "bfloat16"),
        O: T.Tensor((heads, queries, dim), "bfloat16"),
    ):
        with T.MixedKernel(cores, sids=2) as (core, sid):
            q_l1 = T.alloc_l1((BLOCK, dim), "bfloat16")
            k_l1 = T.alloc_l1((BLOCK, dim), "bfloat16")
            v_l1 = T.alloc_l1((BLOCK, dim), "bfloat16")
            p_l1 = T.alloc_l1((BLOCK, BLOCK), "bfloat16")       # P^T, as everything called p and s: [keys, queries]
            q_l0b = T.alloc_l0b((BLOCK, dim), "bfloat16")
            k_l0a = T.alloc_l0a((BLOCK, dim), "bfloat16")
            p_l0a = T.alloc_l0a((BLOCK, BLOCK), "bfloat16")
            v_l0b = T.alloc_l0b((BLOCK, dim), "bfloat16")
            s_l0c = T.alloc_l0c((BLOCK, BLOCK), "float32")
            pv_l0c = T.alloc_l0c((BLOCK, dim), "float32")
            s = T.alloc_shared((BLOCK, ROWS), "float32")
            p = T.alloc_shared((2, HALF + 1, ROWS), "bfloat16")     # a row more than needed: blocks of a register then fall into other banks
            pv = T.alloc_shared((ROWS, dim), "float32")
            acc = T.alloc_shared((ROWS, dim), "float32")
            out = T.alloc_shared((ROWS, dim), "bfloat16")
            top = T.alloc_shared((ROWS,), "float32")        # running maximum of a query's scores
            total = T.alloc_shared((ROWS,), "float32")      # running sum of exp(score - top)
            shrink = T.alloc_shared((ROWS,), "float32")     # exp(old top - new top)
            T.annotate_layout({p: make_ascend_compact_nz_layout(p)})
            T.annotate_buffer_versions({s: 2, p: 2, pv: 2})
            for tile in T.Persistent([heads * tiles_q], cores, core):
                head = tile // tiles_q
                first = tile % tiles_q * BLOCK
                T.copy(Q[head, first : first + BLOCK, 0:dim], q_l1)
                T.copy(q_l1, q_l0b)
                with T.SimdVF():
                    T.simd.vsts(top[0], T.simd.vdup(T.float32(NEVER), "float32"))
                    T.simd.vsts(total[0], T.simd.vdup(T.float32(0), "float32"))
                    for r in T.serial(ROWS * dim // LANES):
                        T.simd.vsts(acc[r * LANES // dim, r * LANES % dim], T.simd.vdup(T.float32(0), "float32"))
                seen = T.min(keys, first + BLOCK + shift) if causal else keys       # keys that any query of the tile sees
                for j in T.Pipelined(T.ceildiv(seen, BLOCK), num_stages=3, annotations={"enable_offset": True}):
                    T.copy(K[head, j * BLOCK : (j + 1) * BLOCK, 0:dim], k_l1)
                    T.copy(k_l1, k_l0a)
                    T.gemm(k_l0a, q_l0b, s_l0c, transpose_B=True, clear_accum=True)
                    T.dual_copy(s_l0c, s)
                    if masked:
                        last = first + sid * ROWS + shift - j * BLOCK if causal else keys - 1 - j * BLOCK   # key of the block that lane 0 sees
                        if T.min(last, keys - 1 - j * BLOCK) < BLOCK - 1:
                            with T.SimdVF():
                                own = T.simd.vci(last, "int32") if causal else T.simd.vdup(last, "int32")
                                own_last = T.simd.vmins(own, keys - 1 - j * BLOCK)
                                for i in T.serial(BLOCK):
                                    visible = T.simd.vcmps(own_last, i, op="ge")
                                    T.simd.vsts(s[i, 0], T.simd.vsel(T.simd.vld(s[i, 0]), T.simd.vdup(T.float32(NEVER), "float32"), visible))
                    with T.SimdVF():
                        every = T.simd.pset(32, "PAT_ALL")
                        whole = T.simd.pset(16, "PAT_ALL")
                        high = T.simd.alloc_var("float32")
                        high = T.simd.vld(s[0, 0])
                        for i in T.serial(BLOCK // 4):      # by four: a chain of maxima a quarter as long
                            low_pair = T.simd.vmax(T.simd.vld(s[4 * i, 0]), T.simd.vld(s[4 * i + 1, 0]), every)
                            high_pair = T.simd.vmax(T.simd.vld(s[4 * i + 2, 0]), T.simd.vld(s[4 * i + 3, 0]), every)
                            high = T.simd.vmax(high, T.simd.vmax(low_pair, high_pair, every), every)
                        before = T.simd.vld(top[0])
                        now = T.simd.vmax(before, T.simd.vmuls(high, T.float32(scale)))
                        factor = T.simd.vexpdif(before, now)
                        sum_now = T.simd.alloc_var("float32")
                        sum_now = T.simd.vmul(T.simd.vld(total[0]), factor)
                        row = T.simd.make_ubuf_ptr(T.access_ptr(p[0, 0, 0], "w", extent=2 * (HALF + 1) * ROWS), "bfloat16")
                        for i in T.serial(HALF):
                            e0 = T.simd.vexpdif(T.simd.vmuls(T.simd.vld(s[i, 0]), T.float32(scale), every), now, every)
                            e1 = T.simd.vexpdif(T.simd.vmuls(T.simd.vld(s[i + HALF, 0]), T.float32(scale), every), now, every)
                            sum_now = T.simd.vadd(sum_now, T.simd.vadd(e0, e1, every), every)
                            # Even 16-bit lanes hold the values: first of e0, then of e1. Eight blocks of 16 queries go to rows i of
                            # eight columns of fractals, HALF + 1 blocks apart; then on to the next row.
                            both, _ = T.simd.vdintlv(T.simd.vcvt(e0, "bfloat16", whole), T.simd.vcvt(e1, "bfloat16", whole))
                            row = T.simd.vsstb(both, row, (HALF + 1) << 16 | 1, whole, update=True)
                        T.simd.vsts(top[0], now)
                        T.simd.vsts(total[0], sum_now)
                        T.simd.vsts(shrink[0], factor)
                    T.dual_copy(p[0, 0:HALF, 0:ROWS], p_l1[0:HALF, 0:BLOCK])
                    T.dual_copy(p[1, 0:HALF, 0:ROWS], p_l1[HALF:BLOCK, 0:BLOCK])
                    T.copy(V[head, j * BLOCK : (j + 1) * BLOCK, 0:dim], v_l1)
                    T.copy(p_l1, p_l0a)         # both transposed on the way: P [queries, keys], V^T
                    T.copy(v_l1, v_l0b)
                    T.gemm(p_l0a, v_l0b, pv_l0c, transpose_A=True, clear_accum=True)
                    T.dual_copy(pv_l0c, pv)
                    with T.SimdVF():
                        every = T.simd.pset(32, "PAT_ALL")
                        for r in T.serial(ROWS):
                            factor = T.simd.vld(shrink[r], "BRC_B32")
                            for c in T.serial(dim // LANES):
                                part = T.simd.alloc_var("float32")
                                part = T.simd.vld(acc[r, c * LANES])
                                T.simd.vmadd(part, factor, T.simd.vld(pv[r, c * LANES]), every)     # part * factor + pv
                                T.simd.vsts(acc[r, c * LANES], part, every)
                with T.SimdVF():
                    T.simd.vsts(total[0], T.simd.vdiv(T.simd.vdup(T.float32(1), "float32"), T.simd.vld(total[0])))
                with T.SimdVF():
                    every = T.simd.pset(32, "PAT_ALL")
                    whole = T.simd.pset(16, "PAT_ALL")
                    for r in T.serial(ROWS):
                        inverse = T.simd.vld(total[r], "BRC_B32")
                        for c in T.serial(dim // LANES):
                            o = T.simd.vmul(T.simd.vld(acc[r, c * LANES]), inverse, every)
                            T.simd.vsts(out[r, c * LANES], T.simd.vcvt(o, "bfloat16", whole), every, "PK_B32")
                T.dual_copy(out, O[head, first : first + BLOCK, 0:dim])

    return attention


def reference(q, k, v, causal):
    """In float64."""
    scores = q.double() @ k.double().transpose(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        queries, keys = scores.shape[1:]
        scores.masked_fill_(~torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries), float("-inf"))
    return torch.softmax(scores, dim=-1) @ v.double()


def check(heads, queries, keys, dim=128, causal=False, trace=None, **options):
    kernel = attention(heads, queries, keys, dim, bool(causal) if causal in (0, 1) else causal, **options)
    torch.manual_seed(0)
    q, k, v = (torch.randn(heads, length, dim).bfloat16() for length in (queries, keys, keys))
    # Rows after the last head are NaN: nothing may read them.
    on_device = [torch.cat((x, torch.full_like(x[:1], float("nan")))).npu()[:heads] for x in (q, k, v)]
    pairs = queries * keys - (queries * (queries - 1) // 2 if causal else 0)    # of a query and a key that it sees
    return report(f"flash_attention {heads}x{queries}x{keys}x{dim}{' causal' if causal else ''}", lambda: kernel(*on_device),
                  reference(q, k, v, causal), 2**-7, trace, flops=4.0 * heads * pairs * dim)


if __name__ == "__main__":
    main(__doc__, check, heads=4, queries=512, keys=512, causal=0)
