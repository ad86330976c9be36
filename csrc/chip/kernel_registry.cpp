// SPDX-License-Identifier: MIT
// Which copy of a kernel does this host run? The one for its best SIMD level.
#include "chip/kernel_registry.h"

#include <stdexcept>

#include "host/host.h"

namespace ascend {

namespace {
std::map<std::string, std::map<std::string, HostFunction>>& registry() {
    static std::map<std::string, std::map<std::string, HostFunction>> kernels;
    return kernels;
}

std::string list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}
}  // namespace

KernelRegistration::KernelRegistration(const char* name, const char* level, HostFunction run) {
    registry()[name][level] = run;
}

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const auto& kernel : registry()) names.push_back(kernel.first);
    return names;
}

HostFunction find_kernel(const std::string& name) {
    const auto kernel = registry().find(name);
    if (kernel == registry().end())
        throw std::invalid_argument("kernel '" + name + "' is not in this library; it has " + list(kernel_names()));
    const auto at = [&](const char* level) {
        const auto copy = kernel->second.find(level);
        return copy == kernel->second.end() ? nullptr : copy->second;
    };
    HostFunction best = nullptr;
    switch (host::level()) {
        case host::Level::amx:
        case host::Level::avx512: best = at("avx512"); [[fallthrough]];
        case host::Level::avx2:
            if (!best) best = at("avx2");
            [[fallthrough]];
        case host::Level::neon:
        case host::Level::portable:
            if (!best) best = at("portable");
    }
    if (!best) throw std::invalid_argument("kernel '" + name + "' was not compiled for this host");
    return best;
}

int64_t FieldReader::integer(const char* name) {
    const auto field = fields_.integers.find(name);
    if (field == fields_.integers.end())
        throw std::invalid_argument(std::string(kernel_) + ": integer field '" + name + "' is missing");
    read_[name] = true;
    return field->second;
}

double FieldReader::real(const char* name) {
    const auto field = fields_.reals.find(name);
    if (field == fields_.reals.end()) return static_cast<double>(integer(name));
    read_[name] = true;
    return field->second;
}

void FieldReader::finish() const {
    std::vector<std::string> unknown;
    for (const auto& field : fields_.integers)
        if (!read_.count(field.first)) unknown.push_back(field.first);
    for (const auto& field : fields_.reals)
        if (!read_.count(field.first)) unknown.push_back(field.first);
    if (!unknown.empty())
        throw std::invalid_argument(std::string(kernel_) + ": unknown fields " + list(unknown));
}

}  // namespace ascend
