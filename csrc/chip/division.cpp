// SPDX-License-Identifier: MIT
#include "chip/division.h"

#include <cstdint>
#include <cstring>

namespace ascend {

#if defined(__x86_64__)
namespace {

// By their numbers in instructions.
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// DIV and IDIV: [66] [REX] F6|F7 ModRM [SIB] [displacement], the third opcode bit field 6 or 7.
class Division {
public:
    explicit Division(mcontext_t& machine) : machine_(machine), at_(reinterpret_cast<const uint8_t*>(machine.gregs[REG_RIP])) {}

    bool carry_out() {
        if (!read()) return false;
        const uint64_t mask = width_ == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * width_) - 1;
        const uint64_t smallest = uint64_t{1} << (8 * width_ - 1);
        const uint64_t dividend = value(0) & mask;  // the upper half repeats its sign, or is 0
        const bool is_zero = divisor_ == 0;
        if (!is_zero && !(is_signed_ && divisor_ == mask && dividend == smallest)) return false;
        const uint64_t quotient = is_zero ? 0 : smallest, remainder = is_zero ? dividend : 0;
        if (width_ == 1) {
            put(REG_RAX, 2, remainder << 8 | quotient);
        } else {
            put(REG_RAX, width_, quotient);
            put(REG_RDX, width_, remainder);
        }
        machine_.gregs[REG_RIP] = reinterpret_cast<greg_t>(at_);
        return true;
    }

private:
    uint64_t value(int number) const { return static_cast<uint64_t>(machine_.gregs[kRegisters[number]]); }

    // Of 4 bytes the upper half becomes 0, of fewer the rest stays.
    void put(int where, int width, uint64_t value) {
        const uint64_t before = static_cast<uint64_t>(machine_.gregs[where]);
        const uint64_t kept = width >= 4 ? 0 : ~((uint64_t{1} << 8 * width) - 1);
        machine_.gregs[where] = static_cast<greg_t>((before & kept) | value);
    }

    template <typename T>
    T next() {
        T value;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

    bool read() {
        bool is_short = false;
        uint8_t byte = next<uint8_t>(), rex = 0;
        while (byte == 0x66 || byte == 0x2e || byte == 0x3e) {  // operand size, and segments that mean nothing here
            is_short |= byte == 0x66;
            byte = next<uint8_t>();
        }
        if (byte >> 4 == 4) rex = byte, byte = next<uint8_t>();
        if (byte != 0xf6 && byte != 0xf7) return false;
        width_ = byte == 0xf6 ? 1 : rex & 8 ? 8 : is_short ? 2 : 4;
        const uint8_t modrm = next<uint8_t>();
        const int which = modrm >> 3 & 7;
        if (which < 6) return false;
        is_signed_ = which == 7;
        if (modrm >> 6 == 3) {
            const int number = modrm & 7;
            const bool is_second_byte = width_ == 1 && !rex && number >= 4;  // AH, CH, DH, BH
            divisor_ = is_second_byte ? value(number - 4) >> 8 : value(number | (rex & 1) << 3);
            if (width_ < 8) divisor_ &= (uint64_t{1} << 8 * width_) - 1;
        } else {
            divisor_ = 0;
            std::memcpy(&divisor_, reinterpret_cast<const void*>(address(modrm, rex)), static_cast<size_t>(width_));  // it has been read already
        }
        return true;
    }

    uint64_t address(uint8_t modrm, uint8_t rex) {
        const int mode = modrm >> 6, number = modrm & 7;
        if (mode == 0 && number == 5) {  // relative to the next instruction
            const int32_t displacement = next<int32_t>();
            return reinterpret_cast<uint64_t>(at_) + static_cast<int64_t>(displacement);
        }
        uint64_t sum = 0;
        bool is_far = mode == 2;
        if (number == 4) {
            const uint8_t sib = next<uint8_t>();
            const int index = (sib >> 3 & 7) | (rex & 2) << 2, base = sib & 7;
            if (index != 4) sum += value(index) << (sib >> 6);
            if (mode == 0 && base == 5) is_far = true;
            else sum += value(base | (rex & 1) << 3);
        } else {
            sum += value(number | (rex & 1) << 3);
        }
        if (mode == 1) sum += static_cast<int64_t>(next<int8_t>());
        if (is_far) sum += static_cast<int64_t>(next<int32_t>());
        return sum;
    }

    mcontext_t& machine_;
    const uint8_t* at_;
    int width_ = 0;
    bool is_signed_ = false;
    uint64_t divisor_ = 0;
};

}  // namespace

bool divide_without_trap(mcontext_t& machine) { return Division(machine).carry_out(); }
#else
bool divide_without_trap(mcontext_t&) { return false; }  // nothing traps
#endif

}  // namespace ascend
