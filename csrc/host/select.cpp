// SPDX-License-Identifier: MIT
// Which host level does this machine support, and which one runs? The only place that asks the CPU.
#include <atomic>

#include "host/ops.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ascend::host {
namespace {

constexpr const char* kNames[] = {"portable", "avx2", "avx512", "amx", "neon"};
constexpr int kNumLevels = 5;

#if defined(__x86_64__)

struct CpuId {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    CpuId(unsigned leaf, unsigned subleaf) { __get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx); }
};

bool all(unsigned word, std::initializer_list<int> bits) {
    for (int bit : bits)
        if (!(word >> bit & 1)) return false;
    return true;
}

uint64_t enabled_state() {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<uint64_t>(high) << 32 | low;
}

// Linux gives a process the 8 KB tile state only on request; without it the first tile instruction is a
// SIGILL.
bool request_tile_state() {
    constexpr long kArchReqXcompPerm = 0x1023, kXfeatureTileData = 18;
    return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0;
}

unsigned detect() {
    unsigned levels = 1u << static_cast<int>(Level::portable);
    const CpuId basic(1, 0), extended(7, 0), more(7, 1), amd(0x80000001u, 0);
    if (!all(basic.ecx, {12, 27, 28, 29})) return levels;  // FMA, OSXSAVE, AVX, F16C
    const uint64_t state = enabled_state();
    // x86-64-v3: BMI1, AVX2, BMI2, and LZCNT, MOVBE
    if ((state & 6) != 6 || !all(extended.ebx, {3, 5, 8}) || !all(amd.ecx, {5}) || !all(basic.ecx, {22}))
        return levels;
    levels |= 1u << static_cast<int>(Level::avx2);
    // AVX512 F, DQ, CD, BW, VL, and VBMI, VBMI2
    if ((state & 0xe6) != 0xe6 || !all(extended.ebx, {16, 17, 28, 30, 31}) || !all(extended.ecx, {1, 6}))
        return levels;
    levels |= 1u << static_cast<int>(Level::avx512);
    // AVX512_BF16; AMX-BF16, AMX-TILE, AMX-INT8
    if ((state >> 17 & 3) != 3 || !all(more.eax, {5}) || !all(extended.edx, {22, 24, 25})) return levels;
    if (request_tile_state()) levels |= 1u << static_cast<int>(Level::amx);
    return levels;
}

const Ops* ops_of(Level level) {
    constexpr const Ops* kOps[kNumLevels] = {&kPortableOps, &kAvx2Ops, &kAvx512Ops, &kAmxOps, nullptr};
    return kOps[static_cast<int>(level)];
}

#elif defined(__aarch64__)

unsigned detect() { return 1u << static_cast<int>(Level::portable) | 1u << static_cast<int>(Level::neon); }
const Ops* ops_of(Level level) { return level == Level::neon ? &kNeonOps : &kPortableOps; }

#else

unsigned detect() { return 1u << static_cast<int>(Level::portable); }
const Ops* ops_of(Level) { return &kPortableOps; }

#endif

unsigned levels() {
    static const unsigned detected = detect();
    return detected;
}

Level best_level() {
    int best = 0;
    for (int i = 0; i < kNumLevels; ++i)
        if (levels() >> i & 1) best = i;
    return static_cast<Level>(best);
}

struct Choice {
    std::atomic<Level> level{best_level()};
    std::atomic<const Ops*> ops{ops_of(level)};
};

Choice& choice() {
    static Choice instance;
    return instance;
}

const Ops& ops() { return *choice().ops.load(std::memory_order_relaxed); }

}  // namespace

Level level() { return choice().level; }
const char* level_name(Level level) { return kNames[static_cast<int>(level)]; }
bool has_level(Level level) { return levels() >> static_cast<int>(level) & 1; }

bool set_level(const char* name, std::string* reason) {
    std::string offered;
    for (int i = 0; i < kNumLevels; ++i) {
        if (!(levels() >> i & 1)) continue;
        if (std::string(name) == kNames[i]) {
            choice().level = static_cast<Level>(i);
            choice().ops = ops_of(static_cast<Level>(i));
            return true;
        }
        offered += (offered.empty() ? "" : ", ") + std::string(kNames[i]);
    }
    bool known = false;
    for (const char* other : kNames) known |= std::string(name) == other;
    if (reason)
        *reason = std::string("host level \"") + name +
                  (known ? "\" is not supported by this machine" : "\" is unknown") +
                  "; available here: " + offered;
    return false;
}

void mmad(const MmadArgs& args) {
    if (args.m > 0 && args.n > 0 && args.k > 0) ops().mmad(args);
}

bool packs(ElementType a, ElementType b) { return ops().packs && ops().packs(a, b); }
int packed_tiles(ElementType type, int k) { return ops().packed_tiles(type, k); }
int pack_a(uint8_t* out, int64_t strip_bytes, const PackArgs& args) { return ops().pack_a(out, strip_bytes, args); }
int pack_b(uint8_t* out, int64_t strip_bytes, const PackArgs& args) { return ops().pack_b(out, strip_bytes, args); }
int pack_rows_a(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args) {
    return ops().pack_rows_a(out, strip_bytes, args);
}
int pack_rows_b(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args) {
    return ops().pack_rows_b(out, strip_bytes, args);
}
void unpack_bf16(uint8_t* to, int64_t k_stride_bytes, const PackedOperand& packed, bool is_b, int strips, int k) {
    ops().unpack_bf16(to, k_stride_bytes, packed, is_b, strips, k);
}
void mmad_packed(const PackedMmadArgs& args) { ops().mmad_packed(args); }

void nd2nz(uint8_t* dst, const uint8_t* src, int rows, int row_bytes, int64_t src_row_stride_bytes,
           int64_t n_stride, int64_t c0_stride) {
    ops().nd2nz(dst, src, rows, row_bytes, src_row_stride_bytes, n_stride, c0_stride);
}

void dn2nz(uint8_t* dst, const uint8_t* src, int rows, int columns, int element_bytes,
           int64_t src_column_stride_bytes, int64_t n_stride, int64_t c0_stride) {
    ops().dn2nz(dst, src, rows, columns, element_bytes, src_column_stride_bytes, n_stride, c0_stride);
}

void store_rows(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes, int rows,
                int64_t row_bytes) {
    ops().store_rows(dst, dst_stride_bytes, src, src_stride_bytes, rows, row_bytes);
}

void transpose_b16(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes) {
    ops().transpose_b16(dst, dst_stride_bytes, src, src_stride_bytes);
}
void transpose_b8(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes) {
    ops().transpose_b8(dst, dst_stride_bytes, src, src_stride_bytes);
}
void transpose_b32(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes) {
    ops().transpose_b32(dst, dst_stride_bytes, src, src_stride_bytes);
}

void nz2nd_f32(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args) {
    ops().nz2nd_f32(dst, dst_row_stride_bytes, args);
}
void nz2nd_bf16(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args) {
    ops().nz2nd_bf16(dst, dst_row_stride_bytes, args);
}
void nz2nd_f16(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args) {
    ops().nz2nd_f16(dst, dst_row_stride_bytes, args);
}

}  // namespace ascend::host
