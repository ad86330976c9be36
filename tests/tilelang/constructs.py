# SPDX-License-Identifier: MIT
"""Programs for constructs of TileLang's Ascend language that no other program of ours uses; test_constructs.py says what each gives."""

import tilelang
import tilelang.ascend.language as T

S = T.simd


@tilelang.jit(target="ascend")
def simd_values():
    @T.prim_func
    def simd_values(
        F: T.Tensor((2, 64), "float32"),
        U: T.Tensor((2, 64), "uint32"),
        B: T.Tensor((256,), "uint8"),
        FO: T.Tensor((8, 64), "float32"),
        UO: T.Tensor((19, 64), "uint32"),
        HO: T.Tensor((3, 128), "uint16"),
    ):
        with T.Kernel(1):
            f = T.alloc_shared((2, 64), "float32")
            u = T.alloc_shared((2, 64), "uint32")
            b = T.alloc_shared((256,), "uint8")
            fo = T.alloc_shared((8, 64), "float32")
            uo = T.alloc_shared((19, 64), "uint32")
            ho = T.alloc_shared((3, 128), "uint16")
            kept = T.alloc_shared((64,), "uint32")
            T.copy(F, f)
            T.copy(U, u)
            T.copy(B, b)
            with T.SimdVF():
                x, y = S.vld(f[0, 0]), S.vld(f[1, 0])
                p, q = S.vld(u[0, 0]), S.vld(u[1, 0])
                zero, one = S.vdup(0, "uint32"), S.vdup(1, "uint32")
                S.vsts(fo[0, 0], S.vexp(x))
                S.vsts(fo[1, 0], S.vln(S.vabs(x)))
                S.vsts(fo[2, 0], S.vlrelu(x, T.float32(0.25)))
                S.vsts(fo[3, 0], S.vprelu(x, y))
                S.vsts(fo[4, 0], S.vabsdif(x, y))
                S.vsts(fo[5, 0], S.vcgmin(x))
                S.vsts(fo[6, 0], S.vcpadd(x))
                S.vsstb(x, fo[7, 0], 1 << 16)

                carry, total = S.vaddc(p, q)
                S.vsts(uo[0, 0], total)
                S.vsts(uo[1, 0], S.vsel(one, zero, carry))
                carried, with_carry = S.vaddcs(p, q, carry)
                S.vsts(uo[2, 0], with_carry)
                S.vsts(uo[3, 0], S.vsel(one, zero, carried))
                kept_whole, less = S.vsubc(p, q)
                S.vsts(uo[4, 0], less)
                S.vsts(uo[5, 0], S.vsel(one, zero, kept_whole))
                kept_again, less_again = S.vsubcs(p, q, kept_whole)
                S.vsts(uo[6, 0], less_again)
                S.vsts(uo[7, 0], S.vsel(one, zero, kept_again))
                product = S.vmull(p, q)
                S.vsts(uo[8, 0], S.pair_get(product, 0))
                S.vsts(uo[9, 0], S.pair_get(product, 1))
                S.vsts(uo[10, 0], S.vnot(p))

                positive = S.vcmps(x, 0.0, op="gt")
                first8 = S.pge(32, "PAT_VL8")
                first20 = S.update_mask(T.uint32(20), 32)
                every = S.pset(32, "PAT_ALL")
                S.vsts(uo[11, 0], T.reinterpret(S.vusqz(positive, "int32"), "uint32x64"))
                S.vsts(uo[12, 0], S.vsel(one, zero, S.psel(positive, first20, first8)))
                S.vsts(uo[13, 0], S.vsel(one, zero, S.por(positive, first8, every)))
                lower, upper = S.pintlv(positive, first20, 32)
                S.vsts(uo[14, 0], S.vsel(one, zero, lower))
                again, unused = S.pdintlv(lower, upper, 32)
                S.vsts(uo[15, 0], S.vsel(one, zero, again))
                S.vsts(uo[16, 0], S.vsel(one, zero, S.punpack(S.ppack(positive, 0), 0)))
                S.pst(kept[0], positive)
                S.mem_bar("VST_VLD")
                S.vsts(uo[17, 0], S.vsel(one, zero, S.pld(kept[0])))
                S.vsts(uo[18, 0], S.vgatherb(u[0, 0], S.vmuls(S.vsub(S.vdup(7, "uint32"), T.reinterpret(S.vci(0, "int32"), "uint32x64")), 32)))

                codes = S.vld(b[0])
                histogram = S.alloc_local((2,), "uint16")
                histogram[0] = S.vdup(0, "uint16")
                histogram[1] = S.vdup(0, "uint16")
                S.dhistv2(histogram[0], codes, bin=0)
                S.chistv2(histogram[1], codes, bin=1)
                S.vsts(ho[0, 0], histogram[0], dist="NORM_B16")
                S.vsts(ho[1, 0], histogram[1], dist="NORM_B16")
                S.vsts(ho[2, 0], S.vunpack(codes, 1), dist="NORM_B16")
            T.copy(fo, FO)
            T.copy(uo, UO)
            T.copy(ho, HO)

    return simd_values


@tilelang.jit(target="ascend")
def reductions(rows=8, cols=64):
    @T.prim_func
    def reductions(X: T.Tensor((rows, cols), "float32"), I: T.Tensor((rows, cols), "int32"), FO: T.Tensor((5, rows), "float32"), IO: T.Tensor((3, rows), "int32")):
        with T.Kernel(1):
            x = T.alloc_shared((rows, cols), "float32")
            i = T.alloc_shared((rows, cols), "int32")
            fo = T.alloc_shared((5, rows), "float32")
            io = T.alloc_shared((3, rows), "int32")
            T.copy(X, x)
            T.copy(I, i)
            with T.SimtVF(threads=64):
                xs = T.alloc_fragment((rows, cols), "float32")
                ints = T.alloc_fragment((rows, cols), "int32")
                out = T.alloc_fragment((rows,), "float32")
                bits = T.alloc_fragment((rows,), "int32")
                T.copy(x, xs)
                T.copy(i, ints)
                T.reduce_max(xs, out, dim=1)
                T.copy(out, fo[0, :])
                T.reduce_min(xs, out, dim=1)
                T.copy(out, fo[1, :])
                T.reduce_sum(xs, out, dim=1)
                T.copy(out, fo[2, :])
                T.reduce_absmax(xs, out, dim=1)
                T.copy(out, fo[3, :])
                T.reduce_abssum(xs, out, dim=1)
                T.copy(out, fo[4, :])
                T.reduce_max(ints, bits, dim=1)
                T.copy(bits, io[0, :])
                T.reduce_sum(ints, bits, dim=1)
                T.copy(bits, io[1, :])
                T.reduce_min(ints, bits, dim=1)
                T.copy(bits, io[2, :])
            T.copy(fo, FO)
            T.copy(io, IO)

    return reductions


@tilelang.jit(target="ascend")
def scheduled_gemm(m, n, k, mode, block=128, cores=3):
    @T.prim_func
    def scheduled_gemm(A: T.Tensor((m, k), "float32"), B: T.Tensor((n, k), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(cores) as core:
            a_l1 = T.alloc_l1((block, 64), "float32")
            b_l1 = T.alloc_l1((block, 64), "float32")
            acc = T.alloc_l0c((block, block), "float32")
            T.set_hf32_mode(mode)
            T.set_mmad_direction("n")
            for tile in T.Persistent([(m // block) * (n // block)], cores, core):
                row = tile // (n // block) * block
                col = tile % (n // block) * block
                for i in T.Pipelined(k // 64, num_stages=2):
                    T.copy(A[row, i * 64], a_l1)
                    T.copy(B[col, i * 64], b_l1)
                    T.gemm(a_l1, b_l1, acc, transpose_B=True, clear_accum=(i == 0))
                T.copy(acc, C[row : row + block, col : col + block])

    return scheduled_gemm


@tilelang.jit(target="ascend")
def threads():
    @T.prim_func
    def threads(X: T.Tensor((256,), "int32")):
        with T.Kernel(1):
            x = T.alloc_shared((256,), "int32")
            with T.SimtVF(threads=[64, 2, 2]):
                tx, ty, tz = T.get_thread_bindings()
                ex, ey, ez = T.get_thread_extents()
                x[(tz * ey + ty) * T.get_thread_extent(0) + tx] = tx + 1000 * ty + 100000 * tz
                T.ascend_threadfence()
            T.print(x[5], msg="fifth")
            T.copy(x, X)

    return threads
