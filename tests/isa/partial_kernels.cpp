// SPDX-License-Identifier: MIT
// What becomes of a product when the last rows of A and B were never loaded? tests/isa/test_partial_products.py.

constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};

template <class T>
T* at(int64_t offset) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(offset));
}

// a, b: bytes, rows of 64; tiles of 32 x 32. Rows of a tile that are there, then rows and columns of D that are stored.
struct Sizes {
    int rows_a, rows_b, m, n;
};
constexpr int kTile = 32, kRowBytes = 64, kScales = 8192, kSecond = 32768;

void load_tiles(__gm__ uint8_t* a, __gm__ uint8_t* b, const Sizes& s) {
    asc_set_gm2l1_nz_para(1, 1, kTile, 0);
    asc_copy_gm2l1_nd2nz(at<uint8_t>(0), a, kRowBytes, kLoad, s.rows_a, kRowBytes, 0, false);
    asc_copy_gm2l1_nd2nz(at<uint8_t>(4096), b, kRowBytes, kLoad, s.rows_b, kRowBytes, 0, false);
    asc_fill_l1(at<uint16_t>(kScales), 0x7f7f, {.repeat = 1, .blk_num = 2, .dst_gap = 0});
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
}

template <class T>
void load_l0() {
    asc_copy_l12l0a(at<T>(0), at<T>(0), 0, 0, 2, 2, 2, 2);
    asc_copy_l12l0b(at<T>(0), at<T>(4096), 0, 0, 2, 2, 2, 2);
}

template <class T>
void multiply(bool init) {
    load_l0<T>();
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad(at<float>(0), at<T>(0), at<T>(0), kTile, kRowBytes / sizeof(T), kTile, 0, true, false, init);  // @mmad
    asc_sync_notify(PIPE_M, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_M, PIPE_MTE1, 0);
}

void store(__gm__ float* d, const Sizes& s) {
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    asc_copy_l0c2gm(d, at<float>(0), s.n, s.m, kTile, kTile, kStore, asc_unit_flag_mode{0}, asc_quant_mode{0}, asc_relu_pre_mode{0}, false, true, false, false);
}

#define CUBE(name)                                                                                                        \
    extern "C" __global__ __cube__ void name(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ float* d, int rows_a, int rows_b, \
                                             int m, int n)

// Two products of whole tiles into one accumulator: of everything first (its rows stay in L1 and L0), then of what is there.
template <class T>
void twice(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ float* d, const Sizes& s) {
    load_tiles(a, b, s);
    multiply<T>(true);
    multiply<T>(false);
    store(d, s);
}
CUBE(bf16) { twice<bfloat16_t>(a, b, d, {rows_a, rows_b, m, n}); }
CUBE(f16) { twice<half>(a, b, d, {rows_a, rows_b, m, n}); }
CUBE(e4m3) { twice<float8_e4m3_t>(a, b, d, {rows_a, rows_b, m, n}); }
CUBE(s8) { load_tiles(a, b, {rows_a, rows_b, m, n});
    load_l0<int8_t>();
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad(at<int32_t>(0), at<int8_t>(0), at<int8_t>(0), kTile, kRowBytes, kTile, 0, true, false, true);
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    asc_copy_l0c2gm(reinterpret_cast<int32_t*>(d), at<int32_t>(0), n, m, kTile, kTile, kStore, asc_unit_flag_mode{0}, asc_quant_mode{0},
                    asc_relu_pre_mode{0}, false, true, false, false);
}

// Scales of the first 16 rows of A and of all of B; 1 each.
CUBE(scales) {
    load_tiles(a, b, {rows_a, rows_b, m, n});
    load_l0<float8_e4m3_t>();
    asc_copy_l12l0a_mx(0, at<fp8_e8m0_t>(kScales), 0, 0, 1, 1, 1, 1);
    asc_copy_l12l0b_mx(0, at<fp8_e8m0_t>(kScales), 0, 0, 2, 1, 1, 1);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad_mx(at<float>(0), at<float8_e4m3_t>(0), at<float8_e4m3_t>(0), kTile, kRowBytes, kTile, 0, true, false, true);
    store(d, {rows_a, rows_b, m, n});
}

// What was multiplied whole before is undefined after a product of less.
CUBE(whole_before) {
    load_tiles(a, b, {kTile, kTile, m, n});
    multiply<bfloat16_t>(true);
    asc_copy_gm2l1_nd2nz(at<uint8_t>(kSecond), a, kRowBytes, kLoad, rows_a, kRowBytes, 0, false);
    asc_copy_gm2l1_nd2nz(at<uint8_t>(kSecond + 4096), b, kRowBytes, kLoad, rows_b, kRowBytes, 0, false);
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
    asc_copy_l12l0a(at<bfloat16_t>(4096), at<bfloat16_t>(kSecond), 0, 0, 2, 2, 2, 2);
    asc_copy_l12l0b(at<bfloat16_t>(4096), at<bfloat16_t>(kSecond + 4096), 0, 0, 2, 2, 2, 2);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad(at<float>(0), at<bfloat16_t>(4096), at<bfloat16_t>(4096), kTile, kTile, kTile, 0, true, false, true);
    store(d, {rows_a, rows_b, m, n});
}

// The product goes to L1 as bf16 and is multiplied by b again: whole tiles, of which only some rows are there.
CUBE(through_l1) {
    load_tiles(a, b, {rows_a, rows_b, m, n});
    multiply<bfloat16_t>(true);
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    asc_copy_l0c2l1(at<bfloat16_t>(kSecond), at<float>(0), kTile, kTile, kTile, kTile, asc_unit_flag_mode{0}, asc_quant_mode{16},
                    asc_relu_pre_mode{0}, false, false, false);
    asc_sync_notify(PIPE_FIX, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_FIX, PIPE_MTE1, 0);
    asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(kSecond), 0, 0, 2, 2, 2, 2);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), kTile, kTile, kTile, 0, true, false, true);
    store(d, {rows_a, rows_b, m, n});
}

// Nothing was multiplied, and that goes to L1.
CUBE(nothing_to_l1) {
    static_cast<void>(a), static_cast<void>(b), static_cast<void>(d), static_cast<void>(rows_a), static_cast<void>(rows_b);
    asc_copy_l0c2l1(at<float>(0), at<float>(0), n, m, kTile, kTile, asc_unit_flag_mode{0}, asc_quant_mode{0}, asc_relu_pre_mode{0});
}

// The product goes to UB whole; the rows that are stored from there.
extern "C" __global__ __mix__(1, 2) void through_ub(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ float* d, int rows_a, int rows_b, int m, int n) {
    if ASC_IS_AIC {
        load_tiles(a, b, {rows_a, rows_b, m, n});
        multiply<bfloat16_t>(true);
        asc_sync_notify(PIPE_M, PIPE_FIX, 0);
        asc_sync_wait(PIPE_M, PIPE_FIX, 0);
        asc_copy_l0c2ub(reinterpret_cast<float*>(ascend::isa::ub_base()), at<float>(0), kTile, kTile, kTile, kTile, false, asc_dual_dst_mode{0},
                        asc_unit_flag_mode{0}, asc_quant_mode{0}, asc_relu_pre_mode{0}, false, true, false, false);
        asc_sync_intra_arrive(PIPE_FIX, 0);
    }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 0) {
            asc_sync_intra_wait(PIPE_MTE3, 0);
            asc_copy_ub2gm_align(d, reinterpret_cast<float*>(ascend::isa::ub_base()), m, n * 4, kStore, kTile * 4, kTile * 4);  // @store
        }
    }
}

// Rows of a that exist go to UB; from there the whole tile to L1, a column of fractals at a time.
extern "C" __global__ __mix__(1, 2) void from_ub(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ float* d, int rows_a, int rows_b, int m, int n) {
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 0) {
            auto* ub = reinterpret_cast<__ubuf__ uint8_t*>(ascend::isa::ub_base());
            asc_copy_gm2ub_align(ub, a, rows_a, kRowBytes, 0, 0, false, kLoad, kRowBytes, kRowBytes);
            asc_sync_notify(PIPE_MTE2, PIPE_MTE3, 0);
            asc_sync_wait(PIPE_MTE2, PIPE_MTE3, 0);
            for (int unit = 0; unit < 2; ++unit) asc_copy_ub2l1(at<uint8_t>(kSecond + unit * 1024), ub + unit * 32, kTile, 1, 1, 0);  // @ub2l1
            asc_sync_intra_arrive(PIPE_MTE3, 0);
        }
    }
    if ASC_IS_AIC {
        load_tiles(a, b, {rows_a, rows_b, m, n});
        asc_sync_intra_wait(PIPE_MTE1, 0);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(kSecond), 0, 0, 2, 2, 2, 2);
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(4096), 0, 0, 2, 2, 2, 2);
        asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
        asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
        asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), kTile, kTile, kTile, 0, true, false, true);
        store(d, {rows_a, rows_b, m, n});
    }
}

// a and b lie with k outermost, 32 rows of 64 bytes, and are transposed on their way to L0; `there` rows of them exist, k are multiplied.
template <class T>
void transposed(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ float* d, int there, int k) {
    constexpr int kWide = kRowBytes / sizeof(T);
    load_tiles(a, b, {there, there, 0, 0});
    asc_copy_l12l0a_transpose(at<T>(0), at<T>(0), 0, 0, 2, 2, 2, kWide / 16);
    asc_copy_l12l0b_transpose(at<T>(0), at<T>(4096), 0, 0, 2, 2, 2, kWide / 16);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad(at<float>(0), at<T>(0), at<T>(0), kWide, k, kWide, 0, true, false, true);
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    asc_copy_l0c2gm(d, at<float>(0), kWide, kWide, kWide, kWide, kStore, asc_unit_flag_mode{0}, asc_quant_mode{0}, asc_relu_pre_mode{0}, false, true, false, false);
}
#define TRANSPOSED(name, T)                                                                                                            \
    extern "C" __global__ __cube__ void transposed_##name(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ float* d, int there, int k) { \
        transposed<T>(a, b, d, there, k);                                                                                            \
    }
TRANSPOSED(bf16, bfloat16_t)
TRANSPOSED(e4m3, float8_e4m3_t)
TRANSPOSED(f32, float)
