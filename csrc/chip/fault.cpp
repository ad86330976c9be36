// SPDX-License-Identifier: MIT
// How does a return address become a source line? dladdr for the module, addr2line (when installed) for the line.
#include "chip/fault.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

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

struct Site {
    std::string line;         // "file:line" of the kernel, or empty
    std::string instruction;  // "asc_mmad" if the code was inlined from one, or empty
};

// The headers of the instruction set, in the checkout or installed: csrc/isa, ascend_sim/include/isa.
bool is_instruction_header(const std::string& file_and_line) {
    for (const char* folder : {"csrc/isa/", "include/isa/"})
        if (file_and_line.find(folder) != std::string::npos) return true;
    return false;
}

// Of inlined frames, innermost first, the line is the first that is not an instruction's own wrapper.
Site look_up(const std::string& module, uint64_t offset) {
    for (const char c : module)
        if (c == '\'' || c == '\\') return {};  // never build a shell command from an odd path
    const std::string command = format("addr2line -f -C -i -e '%s' 0x%llx 2>/dev/null", module.c_str(),
                                       static_cast<unsigned long long>(offset));
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    Site site;
    std::string function;
    char line[4096];
    for (bool is_function = true; pipe && fgets(line, sizeof line, pipe.get()); is_function = !is_function) {
        std::string text = line;
        while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
        if (is_function) {
            function = text;
            continue;
        }
        const size_t note = text.find(" (discriminator");
        if (note != std::string::npos) text.resize(note);
        if (text.empty() || text[0] == '?') continue;
        if (is_instruction_header(text)) {
            if (site.line.empty()) site.line = basename_of(text);
            const size_t name = function.find("asc_");
            if (name != std::string::npos) site.instruction = function.substr(name, function.find_first_of("<(", name) - name);
            continue;
        }
        site.line = basename_of(text);
        break;
    }
    return site;
}

// A deadlock of a whole grid names the same few lines again and again, and a look-up takes 10 ms.
Site site_at(uint64_t return_address) {
    static std::mutex mutex;
    static auto* known = new std::map<std::pair<std::string, uint64_t>, Site>;
    Dl_info info;
    // One byte back: inside the call, not behind it.
    const auto* code = reinterpret_cast<const char*>(return_address) - 1;
    if (return_address == 0 || !dladdr(code, &info) || !info.dli_fname) return {"unknown line", {}};
    const auto offset = static_cast<uint64_t>(code - static_cast<const char*>(info.dli_fbase));
    std::lock_guard lock(mutex);
    const auto [entry, is_new] = known->try_emplace({info.dli_fname, offset});
    if (is_new) {
        entry->second = look_up(info.dli_fname, offset);
        if (entry->second.line.empty())
            entry->second.line = format("%s+0x%llx", basename_of(info.dli_fname).c_str(), static_cast<unsigned long long>(offset));
    }
    return entry->second;
}

}  // namespace

std::string source_line(uint64_t return_address) { return site_at(return_address).line; }

std::string instruction_at(uint64_t return_address) { return site_at(return_address).instruction; }

}  // namespace ascend
