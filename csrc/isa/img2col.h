// SPDX-License-Identifier: MIT
// MTE1: the load that makes a matrix of a feature map, so that a convolution is an MMAD. Source: ascend950.md 2.2.
// Public are the way and its rates; the name, the list of arguments and the order of k are this project's.
#pragma once

#include "isa/load.h"

// The feature map in L1 is [channels / C0][height][width][C0], C0 elements in 32 bytes.
struct asc_img2col_config {
    uint16_t height = 1, width = 1;
    uint8_t pad_left = 0, pad_right = 0, pad_top = 0, pad_bottom = 0;
    uint8_t kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1;
    uint8_t dilation_height = 1, dilation_width = 1;
    uint32_t pad_value = 0;  // bits of an element
};

namespace ascend::isa {
void copy_img2col(const void* l0a, const void* l1, int64_t m_start, int64_t k_start, int64_t m, int64_t k,
                  const asc_img2col_config& config, int element_bytes, const void* pc);
}  // namespace ascend::isa

// Rows m_start .. + m are positions of the output in row-major order, columns k_start .. + k are (channel block, kernel row,
// kernel column, channel); k_start and k are multiples of C0. To L0A in the order an MMAD reads.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0a_img2col(T* l0a, const T* l1, int64_t m_start, int64_t k_start, int64_t m,
                                                    int64_t k, const asc_img2col_config& config) {
    static_assert(sizeof(T) <= 4 && ascend::isa::kElementBits<T> >= 8);
    ascend::isa::copy_img2col(l0a, l1, m_start, k_start, m, k, config, sizeof(T), ASCEND_SIM_HERE);
}
