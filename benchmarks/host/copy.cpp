// SPDX-License-Identifier: MIT
// How fast are the layout copies of csrc/host/copy.h? Host GB/s of source bytes per level, at the sizes of a
// GEMM's stages.
//
// Build and run with benchmarks/host/run.sh copy; arguments: level names (default: all that the machine has).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/copy.h"
#include "host/host.h"

using namespace ascend;

namespace {

template <typename Call>
void measure(const char* level, const char* name, double bytes, Call call) {
    double best = 1e9;  // of many short windows: the machine may be shared
    for (int repeat = 0; repeat < 40; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 100; ++i) call(i);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 100;
        best = seconds < best ? seconds : best;
    }
    std::printf("%-8s %-44s host %7.2f us %7.1f GB/s\n", level, name, best * 1e6, bytes / best * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
    auto* gm = static_cast<uint8_t*>(std::aligned_alloc(4096, 64 << 20));
    auto* l1 = static_cast<uint8_t*>(std::aligned_alloc(4096, 512 << 10));
    auto* l0c = static_cast<float*>(std::aligned_alloc(4096, 256 << 10));
    std::memset(gm, 0x11, 64 << 20);
    std::memset(l1, 0x11, 512 << 10);
    std::memset(l0c, 0x11, 256 << 10);
    const char* all_levels[] = {"portable", "avx2", "avx512", "amx", "neon"};
    std::vector<const char*> levels(argv + 1, argv + argc);
    if (levels.empty()) levels.assign(all_levels, all_levels + 5);
    for (const char* level : levels) {
        if (!host::set_level(level)) continue;
        // Rows of a [., 16384] bf16 matrix; successive calls read other columns, so that the source is not in
        // a near cache.
        measure(level, "nd2nz 256 rows x 256 B", 65536,
                [&](int i) { host::nd2nz(l1, gm + i % 128 * 256, 256, 256, 32768, 1, 256); });
        measure(level, "nd2nz 128 rows x 512 B", 65536,
                [&](int i) { host::nd2nz(l1, gm + i % 64 * 512, 128, 512, 32768, 1, 128); });
        measure(level, "nd2nz 128 rows x 200 B", 25600,
                [&](int i) { host::nd2nz(l1, gm + i % 128 * 256, 128, 200, 32768, 1, 128); });
        measure(level, "dn2nz 128 rows x 128 columns b16", 32768,
                [&](int i) { host::dn2nz(l1, gm + i % 128 * 256, 128, 128, 2, 32768, 1, 128); });
        measure(level, "dn2nz 128 rows x 128 columns b8", 16384,
                [&](int i) { host::dn2nz(l1, gm + i % 128 * 256, 128, 128, 1, 32768, 1, 128); });
        measure(level, "transpose b16, 64 of 512 B", 32768, [&](int) {
            for (int f = 0; f < 64; ++f) host::transpose_b16(l1 + f * 512, 32, gm + f * 512, 32);
        });
        measure(level, "transpose b8, 32 of 1024 B", 32768, [&](int) {
            for (int f = 0; f < 32; ++f) host::transpose_b8(l1 + f * 1024, 32, gm + f * 1024, 32);
        });
        host::Nz2NdArgs args{l0c, 256 * 16, 256, 128};
        measure(level, "nz2nd bf16 256 x 128", 131072,
                [&](int i) { host::nz2nd_bf16(gm + i * 256, 14336, args); });
        measure(level, "nz2nd f16 256 x 128", 131072,
                [&](int i) { host::nz2nd_f16(gm + i * 256, 14336, args); });
        measure(level, "nz2nd f32 256 x 128", 131072,
                [&](int i) { host::nz2nd_f32(gm + i * 512, 28672, args); });
        args.relu = true;
        measure(level, "nz2nd bf16 256 x 128, relu", 131072,
                [&](int i) { host::nz2nd_bf16(gm + i * 256, 14336, args); });
    }
}
