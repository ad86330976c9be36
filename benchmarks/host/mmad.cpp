// SPDX-License-Identifier: MIT
// How fast is host::mmad on this machine? Host GFLOP/s per level and type, for calls of the sizes that
// kernels make.
//
// Build and run with benchmarks/host/run.sh mmad; arguments: level names (default: all that the machine has).
// Operands rotate over buffers as large as L0A and L0B (64 KiB each) and C is 256 KiB, so that caches see
// what they see under a kernel.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "formats/bf16.h"
#include "host/host.h"

using namespace ascend;

namespace {

struct Case {
    ElementType type;
    bool mx;
    int m, n, k;
};

uint32_t random_bits() {
    static uint64_t state = 0x9e3779b97f4a7c15ull;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<uint32_t>(state >> 16);
}

float random_value() {  // a sum of uniforms: about normal, a few exponents wide
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(random_bits() & 0xffff) / 65536.0f - 0.5f;
    return sum;
}

void fill(std::vector<uint8_t>& bytes, ElementType type) {
    if (type == ElementType::bf16 || type == ElementType::f16) {
        for (size_t i = 0; i < bytes.size(); i += 2) {
            const uint16_t code = type == ElementType::bf16
                                      ? f32_to_bf16(random_value())
                                      : static_cast<uint16_t>(0x3000 + (random_bits() & 0x87ff));
            std::memcpy(&bytes[i], &code, 2);
        }
    } else if (type == ElementType::f32 || type == ElementType::hf32) {
        for (size_t i = 0; i < bytes.size(); i += 4) {
            const float value = random_value();
            std::memcpy(&bytes[i], &value, 4);
        }
    } else {
        for (uint8_t& byte : bytes)
            byte = (static_cast<uint8_t>(random_bits()) & 0xbb) | 1;  // no NaN, no inf
    }
}

double gflops(const Case& test) {
    const int k0 = elements_per_unit(test.type), k1 = (test.k + k0 - 1) / k0;
    const size_t a_bytes = static_cast<size_t>((test.m + 15) / 16) * k1 * 512,
                 b_bytes = static_cast<size_t>((test.n + 15) / 16) * k1 * 512;
    const size_t a_stages = a_bytes < 65536 ? 65536 / a_bytes : 1,
                 b_stages = b_bytes < 65536 ? 65536 / b_bytes : 1;
    std::vector<uint8_t> a(a_bytes * a_stages + 64), b(b_bytes * b_stages + 64), scales(65536, 127);
    std::vector<float> storage(65536 + 1024);
    float* c = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(storage.data()) + 4095) / 4096 * 4096);
    fill(a, test.type);
    fill(b, test.type);
    uint8_t* a_base = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(a.data()) + 63) / 64 * 64);
    uint8_t* b_base = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(b.data()) + 63) / 64 * 64);
    const size_t c_floats = static_cast<size_t>((test.m + 15) / 16) * ((test.n + 15) / 16) * 256;
    const size_t c_stages = c_floats < 65536 ? 65536 / c_floats : 1;

    long calls = 0;
    double best = 0;  // of many short windows: the machine may be shared
    for (int repeat = 0; repeat < 40; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        double seconds = 0;
        calls = 0;
        do {
            for (int i = 0; i < 8; ++i, ++calls) {
                host::MmadArgs args{};
                args.a = a_base + (calls % a_stages) * a_bytes;
                args.b = b_base + (calls % b_stages) * b_bytes;
                args.c = c + (calls / 64 % c_stages) * c_floats;  // a kernel stays on one C for its whole k
                args.m = test.m, args.n = test.n, args.k = test.k;
                args.a_type = args.b_type = test.type;
                if (test.mx) args.a_scale = args.b_scale = scales.data();
                args.init = calls % 64 == 0;
                host::mmad(args);
            }
            seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        } while (seconds < 0.01);
        const double rate = 2.0 * test.m * test.n * test.k * calls / seconds * 1e-9;
        best = rate > best ? rate : best;
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    const Case cases[] = {
        {ElementType::bf16, false, 256, 128, 64}, {ElementType::bf16, false, 128, 256, 64},
        {ElementType::bf16, false, 256, 256, 64}, {ElementType::bf16, false, 128, 128, 128},
        {ElementType::bf16, false, 128, 64, 256}, {ElementType::bf16, false, 64, 64, 512},
        {ElementType::bf16, false, 16, 256, 128}, {ElementType::e4m3, true, 256, 128, 128},
        {ElementType::e4m3, true, 128, 256, 128}, {ElementType::e4m3, false, 256, 128, 128},
        {ElementType::e5m2, true, 256, 128, 128}, {ElementType::hif8, false, 256, 128, 128},
        {ElementType::e2m1, true, 256, 128, 256}, {ElementType::f16, false, 256, 128, 64},
        {ElementType::hf32, false, 256, 128, 32}, {ElementType::f32, false, 256, 128, 32},
        {ElementType::s8, false, 256, 128, 128},
    };
    const char* all_levels[] = {"portable", "avx2", "avx512", "amx", "neon"};
    std::vector<const char*> levels(argv + 1, argv + argc);
    if (levels.empty()) levels.assign(all_levels, all_levels + 5);
    for (const char* level : levels) {
        std::string reason;
        if (!host::set_level(level, &reason)) continue;
        for (const Case& test : cases)
            std::printf("%-8s %-4s%s m %4d  n %4d  k %4d   host %8.1f GFLOP/s\n", level,
                        element_name(test.type), test.mx ? " mx" : "   ", test.m, test.n, test.k,
                        gflops(test));
    }
}
