// SPDX-License-Identifier: MIT
// How does a caller reach a kernel compiled into the library? By name, with named 8-byte fields.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace ascend {

struct Device;

// Pointers and integers as int64, real numbers as double. Names are checked: none missing, none unknown.
struct Fields {
    std::map<std::string, int64_t> integers;
    std::map<std::string, double> reals;
};

// What a kernel's host function reads the fields with. Every field must be read; finish() reports the others.
class FieldReader {
public:
    FieldReader(const char* kernel, const Fields& fields) : kernel_(kernel), fields_(fields) {}
    int64_t integer(const char* name);
    double real(const char* name);  // an integer is taken as a real number
    uint64_t address(const char* name) { return static_cast<uint64_t>(integer(name)); }
    void finish() const;            // throws std::invalid_argument for fields nobody asked for

private:
    const char* kernel_;
    const Fields& fields_;
    std::map<std::string, bool> read_;
};

using HostFunction = void (*)(Device& device, int stream, const Fields& fields);

// A kernel source is compiled once per host SIMD level; each copy registers itself. `level` is ASCEND_SIM_LEVEL's name.
struct KernelRegistration {
    KernelRegistration(const char* name, const char* level, HostFunction run);
};

// The copy for the best level that this host runs (or that was forced). Throws std::invalid_argument listing known names.
HostFunction find_kernel(const std::string& name);
std::vector<std::string> kernel_names();

#define ASCEND_SIM_STRINGIFY_(x) #x
#define ASCEND_SIM_STRINGIFY(x) ASCEND_SIM_STRINGIFY_(x)
#define ASCEND_SIM_LEVEL_NAME ASCEND_SIM_STRINGIFY(ASCEND_SIM_LEVEL)

}  // namespace ascend
