# SPDX-License-Identifier: MIT
"""Programs on cube cores and on both kinds of core for constructs that constructs.py leaves; test_mixed_constructs.py says what each gives."""

import tilelang
import tilelang.ascend.language as T

S = T.simd
BY_HAND = {tilelang.PassConfigKey.TL_ENABLE_AUTO_SCHEDULE: False}     # no scheduler: the program places the synchronisation


@tilelang.jit(target="ascend")
def mx_from_l0(m=64, n=64, k=128, block_k=128):
    """C = (A scaled by SFA) @ (B scaled by SFB)^T: data and scales brought into L0 one by one. Scales: two e8m0 of k to an int16."""
    pairs = block_k // 64

    @T.prim_func
    def mx_from_l0(
        A: T.Tensor((m, k), "float8_e4m3fn"),
        B: T.Tensor((n, k), "float8_e4m3fn"),
        SFA: T.Tensor((m, k // 64), "uint16"),
        SFB: T.Tensor((n, k // 64), "uint16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1):
            a_l1 = T.alloc_l1((m, block_k), "float8_e4m3fn")
            b_l1 = T.alloc_l1((n, block_k), "float8_e4m3fn")
            sfa_l1 = T.alloc_l1((m, pairs), "uint16")
            sfb_l1 = T.alloc_l1((n, pairs), "uint16")
            a_l0 = T.alloc_l0a((m, block_k), "float8_e4m3fn")
            b_l0 = T.alloc_l0b((n, block_k), "float8_e4m3fn")
            sfa_l0 = T.alloc_l0a_sf(a_l0)
            sfb_l0 = T.alloc_l0b_sf(b_l0)
            acc = T.alloc_l0c((m, n), "float32")
            for i in T.serial(k // block_k):
                T.copy(A[0:m, i * block_k : (i + 1) * block_k], a_l1)
                T.copy(B[0:n, i * block_k : (i + 1) * block_k], b_l1)
                T.copy(SFA[0:m, i * pairs : (i + 1) * pairs], sfa_l1)
                T.copy(SFB[0:n, i * pairs : (i + 1) * pairs], sfb_l1)
                T.copy(a_l1, a_l0)
                T.copy(sfa_l1, sfa_l0)
                T.copy(b_l1, b_l0)
                T.copy(sfb_l1, sfb_l0)
                T.gemm_blockscaled(a_l0, b_l0, acc, sfa_l0, sfb_l0, transpose_B=True, clear_accum=(i == 0))
            T.copy(acc, C)

    return mx_from_l0


@tilelang.jit(target="ascend", pass_configs=BY_HAND)
def by_hand(m=64, n=64, k=32, blocks=2):
    """C = A B^T + 1 on mixed blocks without TileLang's scheduler. A comes through the vector cores: fractals with a row of padding from
    global memory (AZ) to UB, then to L1; both vector cores meet before they store, and the cube counts what it was told.
    """
    half = m // 2

    @T.prim_func
    def by_hand(
        AZ: T.Tensor((blocks, 2, k // 16, half + 1, 16), "bfloat16"),
        B: T.Tensor((blocks, n, k), "bfloat16"),
        C: T.Tensor((blocks, m, n), "float32"),
    ):
        with T.MixedKernel(blocks, sids=2) as (block, sid):
            a_l1 = T.alloc_l1((m, k), "bfloat16")
            b_l1 = T.alloc_l1((n, k), "bfloat16")
            a_l0 = T.alloc_l0a((m, k), "bfloat16")
            b_l0 = T.alloc_l0b((n, k), "bfloat16")
            acc = T.alloc_l0c((m, n), "float32")
            az = T.alloc_shared((k // 16, half + 1, 16), "bfloat16")
            c = T.alloc_shared((half, n), "float32")
            with T.Cube():
                T.ascend_get_buf("PIPE_MTE2", 0)
                T.copy(B[block, 0:n, 0:k], b_l1)
                T.ascend_rls_buf("PIPE_MTE2", 0)
                T.ascend_cross_core_wait_flag(4, "PIPE_MTE1", 1)
                T.ascend_cross_core_wait_flag(4, "PIPE_MTE1", 17)
                T.ascend_get_buf("PIPE_MTE1", 0)
                T.copy(a_l1, a_l0)
                T.copy(b_l1, b_l0)
                T.ascend_rls_buf("PIPE_MTE1", 0)
                T.ascend_set_flag("MTE1_M", 0)
                T.ascend_wait_flag("MTE1_M", 0)
                T.gemm(a_l0, b_l0, acc, transpose_B=True, clear_accum=True)
                T.ascend_set_flag("M_FIX", 0)
                T.ascend_wait_flag("M_FIX", 0)
                T.dual_copy(acc, c)
                T.ascend_cross_core_set_flag(2, "PIPE_FIX", 2)
            with T.Vector():
                T.copy(AZ[block, sid, 0 : k // 16, 0 : half + 1, 0:16], az)
                T.ascend_set_flag("MTE2_MTE3", 0)
                T.ascend_wait_flag("MTE2_MTE3", 0)
                T.ascend_nd2nz_post_copy(a_l1[sid * half, 0], az[0, 0, 0], half, k, m, "bfloat16")
                T.ascend_cross_core_set_flag(4, "PIPE_MTE3", 1)
                T.ascend_cross_core_wait_flag(2, "PIPE_V", 2)
                with T.SimdVF():
                    for i in T.serial(half * n // 64):
                        S.vsts(c[0, i * 64], S.vadds(S.vld(c[0, i * 64]), T.float32(1)))
                T.ascend_set_flag("V_MTE3", 0)
                T.ascend_wait_flag("V_MTE3", 0)
                T.ascend_cross_core_set_flag(1, "PIPE_MTE3", 3)
                T.ascend_cross_core_wait_flag(1, "PIPE_MTE3", 3)
                T.copy(c, C[block, sid * half : (sid + 1) * half, 0:n])

    return by_hand


@tilelang.jit(target="ascend")
def one_after_the_other(cols=64):
    """Core 0 stores its row, then, after a barrier over the grid, core 1 stores its own over half of it: one task of the scheduler."""
    @T.prim_func
    def one_after_the_other(X: T.Tensor((2, cols), "float32"), Y: T.Tensor((cols + cols // 2,), "float32")):
        with T.Kernel(2) as core:
            x = T.alloc_shared((cols,), "float32")
            T.copy(X[core, 0:cols], x)
            with T.PerCoreTask():
                if core == 0:
                    with T.Task():
                        T.copy(x, Y[0:cols])
                T.ascend_sync_inter_arrive("PIPE_MTE3", 0)
                T.ascend_sync_inter_wait("PIPE_MTE3", 0)
                if core != 0:
                    with T.Task():
                        T.copy(x, Y[cols // 2 : cols // 2 + cols])

    return one_after_the_other
