// SPDX-License-Identifier: MIT
// What do the threads of a warp get that exchange values? The rules, out of line: as templates in a header, every kernel would
// compile them anew.
#include <limits>

#include "isa/simt.h"

namespace ascend::isa {

namespace {

template <class F>
void each_lane(uint32_t active, F f) {
    for (uint32_t left = active; left; left &= left - 1) f(static_cast<int>(__builtin_ctz(left)));
}

template <class Source>
void shuffle(WarpExchange& warp, uint32_t active, Source source) {
    each_lane(active, [&](int lane) {
        const int width = warp.width[lane], first = lane / width * width;
        const int64_t from = source(lane, first, width, warp.argument[lane]);
        const bool is_inside = from >= first && from < first + width;
        if (is_inside && (active >> from & 1)) [[likely]] {
            warp.result[lane] = warp.value[from];
            return;
        }
        warp.result[lane] = warp.value[lane];
        if (is_inside) warp.undefined |= 1u << lane, warp.argument[lane] = static_cast<int32_t>(from);
    });
}

template <class T>
using WideLane = std::conditional_t<std::is_integral_v<T>, T, float>;

template <class T>
constexpr T kLowest = std::is_integral_v<T> ? std::numeric_limits<T>::min() : -std::numeric_limits<T>::infinity();
template <class T>
constexpr T kHighest = std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();

template <class T, class F>
void reduce_lanes(WarpExchange& warp, uint32_t active, WideLane<T> identity, F combine) {
    WideLane<T> lanes[kWarpThreads];
    for (int lane = 0; lane < static_cast<int>(kWarpThreads); ++lane)
        lanes[lane] = active >> lane & 1 ? static_cast<WideLane<T>>(simt_value<T>(warp.value[lane])) : identity;
    for (int count = kWarpThreads / 2; count; count /= 2)
        for (int i = 0; i < count; ++i) lanes[i] = combine(lanes[2 * i], lanes[2 * i + 1]);
    const uint64_t result = simt_bits(static_cast<T>(lanes[0]));
    each_lane(active, [&](int lane) { warp.result[lane] = result; });
}

}  // namespace

void shuffle_index(WarpExchange& warp, uint32_t active) {
    shuffle(warp, active, [](int, int first, int width, int argument) -> int64_t { return first + (argument & (width - 1)); });
}
void shuffle_up(WarpExchange& warp, uint32_t active) {
    shuffle(warp, active, [](int lane, int, int, int argument) { return int64_t{lane} - static_cast<uint32_t>(argument); });
}
void shuffle_down(WarpExchange& warp, uint32_t active) {
    shuffle(warp, active, [](int lane, int, int, int argument) { return int64_t{lane} + static_cast<uint32_t>(argument); });
}
void shuffle_xor(WarpExchange& warp, uint32_t active) {
    shuffle(warp, active, [](int lane, int, int, int argument) { return int64_t{lane ^ argument}; });
}

void ballot(WarpExchange& warp, uint32_t active) {
    uint32_t votes = 0;
    each_lane(active, [&](int lane) { votes |= uint32_t{warp.value[lane] != 0} << lane; });
    each_lane(active, [&](int lane) { warp.result[lane] = uint64_t{active} << 32 | votes; });
}
void meet(WarpExchange&, uint32_t) {}

template <class T>
void add_lanes(WarpExchange& warp, uint32_t active) {
    reduce_lanes<T>(warp, active, 0, [](auto a, auto b) { return a + b; });
}
template <class T>
void maximum_of_lanes(WarpExchange& warp, uint32_t active) {
    reduce_lanes<T>(warp, active, kLowest<WideLane<T>>, [](auto a, auto b) { return simt_maximum(a, b); });
}
template <class T>
void minimum_of_lanes(WarpExchange& warp, uint32_t active) {
    reduce_lanes<T>(warp, active, kHighest<WideLane<T>>, [](auto a, auto b) { return simt_minimum(a, b); });
}

#define ASC_OF_LANES(type)                                         \
    template void add_lanes<type>(WarpExchange&, uint32_t);        \
    template void maximum_of_lanes<type>(WarpExchange&, uint32_t); \
    template void minimum_of_lanes<type>(WarpExchange&, uint32_t);
ASC_OF_LANES(float)
ASC_OF_LANES(half)
ASC_OF_LANES(bfloat16_t)
ASC_OF_LANES(int32_t)
ASC_OF_LANES(uint32_t)
ASC_OF_LANES(int64_t)
ASC_OF_LANES(uint64_t)
#undef ASC_OF_LANES

}  // namespace ascend::isa
