// SPDX-License-Identifier: MIT
// How does a return address become a source line? dladdr for the module, addr2line (when installed) for the line.
#include "chip/fault.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <memory>

namespace ascend {

std::string format(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(nullptr, 0, pattern, arguments);
    va_end(arguments);
    std::string text(static_cast<size_t>(length), '\0');
    vsnprintf(text.data(), text.size() + 1, pattern, again);
    va_end(again);
    return text;
}

namespace {

std::string basename_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

// addr2line's "file:line" for an offset of a module, or empty. Of inlined frames, innermost first, the first that is not
// an instruction's own wrapper: the line of the kernel.
std::string addr2line(const std::string& module, uint64_t offset) {
    for (const char c : module)
        if (c == '\'' || c == '\\') return {};  // never build a shell command from an odd path
    const std::string command = format("addr2line -i -e '%s' 0x%llx 2>/dev/null", module.c_str(),
                                       static_cast<unsigned long long>(offset));
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string found;
    char line[1024];
    while (pipe && fgets(line, sizeof line, pipe.get())) {
        std::string text = line;
        while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
        const size_t note = text.find(" (discriminator");
        if (note != std::string::npos) text.resize(note);
        if (text.empty() || text[0] == '?') continue;
        if (text.find("/isa/") != std::string::npos && text.find("/isa/programs/") == std::string::npos) {
            if (found.empty()) found = basename_of(text);
            continue;
        }
        return basename_of(text);
    }
    return found;
}

}  // namespace

std::string source_line(uint64_t return_address) {
    if (return_address == 0) return "unknown line";
    Dl_info info;
    // One byte back: inside the call, not behind it.
    const auto* code = reinterpret_cast<const char*>(return_address) - 1;
    if (!dladdr(code, &info) || !info.dli_fname) return "unknown line";
    const auto offset = static_cast<uint64_t>(code - static_cast<const char*>(info.dli_fbase));
    const std::string line = addr2line(info.dli_fname, offset);
    if (!line.empty()) return line;
    return format("%s+0x%llx", basename_of(info.dli_fname).c_str(), static_cast<unsigned long long>(offset));
}

}  // namespace ascend
