// SPDX-License-Identifier: MIT
// MTE1: windows of a feature map as rows of a matrix (ascend950.md 2.2).
#include "isa/img2col.h"

#include <algorithm>
#include <cstring>

#include "chip/races.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

int64_t positions(int size, int pads, int kernel, int dilation, int stride) {
    const int64_t reach = int64_t{dilation} * (kernel - 1) + 1;
    return size + pads < reach ? 0 : (size + pads - reach) / stride + 1;
}
int64_t output_width(const Img2ColPayload& p) {
    return positions(p.width, p.pad_left + p.pad_right, p.kernel_width, p.dilation_width, p.stride_width);
}
int64_t output_height(const Img2ColPayload& p) {
    return positions(p.height, p.pad_top + p.pad_bottom, p.kernel_height, p.dilation_height, p.stride_height);
}

void img2col_effect(Core& core, const Record& record) {
    const Img2ColPayload& p = record.img2col;
    Memory& l0a = core.ai.l0a;
    const Memory& l1 = core.ai.l1;
    const int64_t width = output_width(p);
    const int window = p.kernel_height * p.kernel_width, row_blocks = (p.m + 15) / 16;
    uint8_t pad[kUnitBytes];
    for (uint32_t at = 0; at < kUnitBytes; at += p.element_bytes) std::memcpy(pad + at, &p.pad_value, p.element_bytes);
    for (int unit = 0; unit < p.k_units; ++unit) {
        const int at_k = p.k_start_units + unit, channel = at_k / window, ky = at_k % window / p.kernel_width,
                  kx = at_k % p.kernel_width;
        for (int row = 0; row < p.m; ++row) {
            const int64_t position = p.m_start + row;
            const int64_t y = position / width * p.stride_height + ky * p.dilation_height - p.pad_top;
            const int64_t x = position % width * p.stride_width + kx * p.dilation_width - p.pad_left;
            const auto to = p.dst + static_cast<uint32_t>((unit * row_blocks + row / 16) * 16 + row % 16) * kUnitBytes;
            const bool inside = y >= 0 && y < p.height && x >= 0 && x < p.width;
            const auto from = p.src + static_cast<uint32_t>(inside ? (channel * p.height + y) * p.width + x : 0) * kUnitBytes;
            if (inside) reads(core, record, l1, {from, kUnitBytes});
            writes(core, record, l0a, {to, kUnitBytes});
            std::memcpy(l0a.at(to), inside ? l1.at(from) : pad, kUnitBytes);
            if (!inside || l1.valid.test(from)) l0a.valid.set(to, kUnitBytes);
            else l0a.valid.undefine_granule(to), core.ai.l0a_parts.of(to) = 0;
        }
    }
}
const uint16_t op_img2col = register_op("asc_copy_l12l0a_img2col", img2col_effect);

// Bytes per cycle of the way's 256: all of it for fractals inside one output row with stride 1, 512 / (n + 2) if they touch
// n of them, 512 / (2 * stride), 32 at least. The public table ends in dots; where two cases meet, the slower counts.
int64_t rate(const Img2ColPayload& p) {
    const int64_t width = output_width(p);
    int64_t rows = 1;
    for (int64_t begin = p.m_start; begin < p.m_start + p.m; begin += 16) {
        const int64_t last = std::min<int64_t>(begin + 15, p.m_start + p.m - 1);
        rows = std::max(rows, last / width - begin / width + 1);
    }
    const int64_t by_rows = rows == 1 ? 256 : 512 / (rows + 2), by_stride = 512 / (2 * p.stride_width);
    return std::max<int64_t>(std::min(by_rows, by_stride), 32);
}

}  // namespace

void copy_img2col(const void* l0a, const void* l1, int64_t m_start, int64_t k_start, int64_t m, int64_t k,
                  const asc_img2col_config& config, int element_bytes, const void* pc) {
    const Issue issue{this_core(), "asc_copy_l12l0a_img2col", Pipe::MTE1, pc};
    issue.on(CoreKind::aic);
    issue.field("m_start", m_start, 0, 65535);
    issue.field("k_start", k_start, 0, 65535);
    issue.field("m", m, 0, 65535);
    issue.field("k", k, 0, 65535);
    issue.field("height", config.height, 1, 32767);
    issue.field("width", config.width, 1, 32767);
    issue.field("kernel_height", config.kernel_height, 1, 255);
    issue.field("kernel_width", config.kernel_width, 1, 255);
    issue.field("stride_height", config.stride_height, 1, 63);
    issue.field("stride_width", config.stride_width, 1, 63);
    issue.field("dilation_height", config.dilation_height, 1, 255);
    issue.field("dilation_width", config.dilation_width, 1, 255);
    if (m == 0 || k == 0) return;
    const int64_t c0 = kUnitBytes / element_bytes;
    if (k_start % c0 || k % c0)
        issue.fail(format("k_start = %lld, k = %lld; both are multiples of %lld, the channels in 32 bytes", (long long)k_start,
                          (long long)k, (long long)c0));
    Record record{};
    record.op = op_img2col;
    record.pipe = Pipe::MTE1;
    record.path = Path::l1_to_l0a;
    Img2ColPayload& p = record.img2col;
    p.src = static_cast<uint32_t>(offset_of(l1));
    p.dst = static_cast<uint32_t>(offset_of(l0a));
    p.pad_value = config.pad_value;
    p.height = config.height;
    p.width = config.width;
    p.m_start = static_cast<uint16_t>(m_start);
    p.m = static_cast<uint16_t>(m);
    p.k_start_units = static_cast<uint16_t>(k_start / c0);
    p.k_units = static_cast<uint16_t>(k / c0);
    p.pad_left = config.pad_left;
    p.pad_right = config.pad_right;
    p.pad_top = config.pad_top;
    p.pad_bottom = config.pad_bottom;
    p.kernel_height = config.kernel_height;
    p.kernel_width = config.kernel_width;
    p.stride_height = config.stride_height;
    p.stride_width = config.stride_width;
    p.dilation_height = config.dilation_height;
    p.dilation_width = config.dilation_width;
    p.element_bytes = static_cast<uint8_t>(element_bytes);
    const int64_t there = output_height(p) * output_width(p);
    if (m_start + m > there)
        issue.fail(format("rows %lld to %lld; the feature map gives %lld positions", (long long)m_start,
                          (long long)(m_start + m), (long long)there));
    const int64_t channels = (p.k_start_units + p.k_units - 1) / (p.kernel_height * p.kernel_width) + 1;
    issue.local(issue.core.ai.l1, "source", offset_of(l1), channels * p.height * p.width * kUnitBytes, kUnitBytes);
    issue.local(issue.core.ai.l0a, "destination", offset_of(l0a), (m + 15) / 16 * p.k_units * kFractalBytes, kFractalBytes);
    record.amount = static_cast<uint32_t>((m + 15) / 16 * p.k_units * kFractalBytes * 256 / rate(p));
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
