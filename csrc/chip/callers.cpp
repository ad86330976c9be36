// SPDX-License-Identifier: MIT
// How are the calls of a function found without disassembling? A call names its target by the distance, 26 bits or more: what
// looks like one and leads exactly to the beginning of the function is one.
#include "chip/callers.h"

#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>

namespace ascend {

namespace {

struct Module {
    uint64_t code = 0;                  // looked for
    uint64_t begin = 0, end = 0;        // of the executable segment around it
    uint64_t low = ~uint64_t{0}, high = 0;  // of everything loaded with it
};

Module module_of(uint64_t code) {
    Module module;
    module.code = code;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            auto& m = *static_cast<Module*>(out);
            uint64_t low = ~uint64_t{0}, high = 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& segment = info->dlpi_phdr[i];
                if (segment.p_type != PT_LOAD) continue;
                const uint64_t begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
                low = std::min(low, begin);
                high = std::max(high, end);
                if (segment.p_flags & PF_X && m.code >= begin && m.code < end) m.begin = begin, m.end = end;
            }
            if (!m.end) return 0;
            m.low = low;
            m.high = high;
            return 1;
        },
        &module);
    return module;
}

template <class T>
T word(uint64_t at) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
    return value;
}

enum class Kind { call, jump };

#if defined(__x86_64__)
// visit(kind, target, what comes behind)
template <class Visit>
void each_branch(const Module& m, Visit visit) {
    for (uint64_t p = m.begin; p + 6 <= m.end; ++p) {
        const auto byte = word<uint8_t>(p);
        uint64_t end = 0;
        if (byte == 0xe8 || byte == 0xe9) end = p + 5;
        else if (byte == 0x0f && (word<uint8_t>(p + 1) & 0xf0) == 0x80) end = p + 6;
        else continue;
        visit(byte == 0xe8 ? Kind::call : Kind::jump, end + static_cast<uint64_t>(int64_t{word<int32_t>(end - 4)}), end);
    }
}

// Where a call of an exported function leads: a jump through an entry of the linkage table, perhaps behind endbr64 and bnd.
std::vector<uint64_t> names_of(const Module& m, uint64_t function) {
    std::vector<uint64_t> names{function};
    for (uint64_t p = m.begin; p + 6 <= m.end; ++p) {
        if (word<uint8_t>(p) != 0xff || word<uint8_t>(p + 1) != 0x25) continue;
        const uint64_t entry = p + 6 + static_cast<uint64_t>(int64_t{word<int32_t>(p + 2)});
        if (entry % 8 || entry < m.low || entry + 8 > m.high || word<uint64_t>(entry) != function) continue;
        for (const uint64_t prefix : {0, 1, 4, 5}) names.push_back(p - prefix);
    }
    return names;
}
#else
template <class Visit>
void each_branch(const Module& m, Visit visit) {
    for (uint64_t p = m.begin; p + 4 <= m.end; p += 4) {
        const auto code = word<uint32_t>(p);
        const auto target = [&](int bits, int at) {
            const auto shifted = static_cast<int32_t>(code << (32 - bits - at));
            return p + static_cast<uint64_t>(int64_t{shifted >> (32 - bits)} * 4);
        };
        if (code >> 26 == 0x25) visit(Kind::call, target(26, 0), p + 4);                                      // bl
        else if (code >> 26 == 0x05) visit(Kind::jump, target(26, 0), p + 4);                                 // b
        else if (code >> 24 == 0x54 || (code >> 25 & 0x3f) == 0x1a) visit(Kind::jump, target(19, 5), p + 4);  // b.cond, cbz, cbnz
        else if ((code >> 25 & 0x3f) == 0x1b) visit(Kind::jump, target(14, 5), p + 4);                        // tbz, tbnz
    }
}

std::vector<uint64_t> names_of(const Module&, uint64_t function) { return {function}; }
#endif

}  // namespace

uint64_t function_at(uint64_t return_address) {
    return reinterpret_cast<uint64_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(return_address)));
}

std::vector<uint64_t> callers_of(uint64_t function) {
    std::vector<uint64_t> found;
    const Module module = module_of(function);
    const std::vector<uint64_t> names = names_of(module, function);
    each_branch(module, [&](Kind, uint64_t target, uint64_t behind) {
        if (std::find(names.begin(), names.end(), target) != names.end()) found.push_back(behind);
    });
    if (!found.empty()) return found;
    // The part of a function for unlikely code: jumped into, anywhere.
    constexpr uint64_t kLargest = 1 << 20;
    each_branch(module, [&](Kind kind, uint64_t target, uint64_t behind) {
        if (kind == Kind::jump && target - function < kLargest && function_at(target + 1) == function && function_at(behind) != function)
            found.push_back(behind);
    });
    return found;
}

}  // namespace ascend
