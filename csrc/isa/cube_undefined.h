// SPDX-License-Identifier: MIT
// What of an MMAD's result is undefined, because what it multiplies is?
//
// The last tile of a tensor is often short, and its other rows are multiplied all the same: whole tiles are computed, what
// exists is stored. So a row of A that holds undefined data (data or scales, anywhere in k) makes a row of the result
// undefined, a row of B a column, and an undefined accumulator stays undefined. Validity of L0C is per 32 bytes, 8 columns of a
// row: of columns, only eight together can be undefined. A product of which nothing would be defined is an error at once.
//
// Where k ends within a fractal that was transposed on its way from L1, the rows of the source behind the end need not exist.
#pragma once

#include <vector>

#include "chip/core.h"

namespace ascend::isa {

// Of what an MMAD reads, in the order of the members of first_undefined(); what null: all of it is defined.
struct Undefined {
    const char* what = nullptr;
    const Memory* memory = nullptr;
    int64_t at = -1;
};
Undefined first_undefined(const AiCore& ai, const Record& record);

// Of an MMAD that reads something undefined.
class PartialProduct {
public:
    // Fails if no result would be defined. What is undefined of the operands becomes zero (scales: 1), so that it influences
    // nothing, not even the host's choice of a summation path.
    PartialProduct(Core& core, const Record& record, const Undefined& first);
    void mark_results() const;

private:
    template <class F>
    void each_granule(F f) const;
    void look_at_operand(Memory& memory, const PartsOfK& parts, uint32_t base, std::vector<uint8_t>& lines) const;
    void look_at_scales(Memory& memory, uint32_t base, std::vector<uint8_t>& lines) const;
    bool is_defined(int row, int column, uint32_t at) const;

    AiCore& ai_;
    const Record& record_;
    std::vector<uint8_t> rows_, columns_;  // 1: defined
};

// ", undefined data was multiplied last .." with its line, or empty.
std::string undefined_factor(const AiCore& ai);
// The same of what came from UB, under the memory check; undefined_factor() has it at its end.
std::string undefined_transfer(const AiCore& ai);

}  // namespace ascend::isa
