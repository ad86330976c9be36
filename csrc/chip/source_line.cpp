// SPDX-License-Identifier: MIT
// How does a return address become a source line? dladdr for the module, addr2line (when installed) for the lines, and the
// callers where the kernel's own file is not among them.
#include "chip/source_line.h"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "chip/callers.h"
#include "chip/fault.h"

namespace ascend {

namespace {

std::string basename_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

struct Site {
    std::string line;         // the innermost that is not of this simulator: "file:line", or empty
    std::string own;          // the innermost in a file that is no header, or empty
    std::string instruction;  // "asc_mmad" if the code was inlined from one, or empty
};

// The simulator's headers and sources, in the checkout or installed.
bool is_of_the_simulator(const std::string& file_and_line) {
    for (const char* folder : {"csrc/isa/", "csrc/chip/", "include/isa/", "include/chip/"})
        if (file_and_line.find(folder) != std::string::npos) return true;
    return false;
}

// The compiler's headers have no suffix, and neither has the text that calls a kernel ("entries of ..").
bool is_header(const std::string& file_and_line) {
    const std::string file = basename_of(file_and_line.substr(0, file_and_line.rfind(':')));
    const size_t dot = file.rfind('.');
    if (dot == std::string::npos) return true;
    const std::string_view suffix = std::string_view(file).substr(dot + 1);
    for (const char* of_headers : {"h", "hh", "hpp", "hxx", "h++", "cuh", "inc", "inl", "ipp", "tcc"})
        if (suffix == of_headers) return true;
    return false;
}

// addr2line writes two lines a frame, function and place, the innermost frame first.
Site look_up(const std::string& module, uint64_t offset) {
    for (const char c : module)
        if (c == '\'' || c == '\\') return {};  // never build a shell command from an odd path
    const std::string command = format("addr2line -f -C -i -e '%s' 0x%llx 2>/dev/null", module.c_str(),
                                       static_cast<unsigned long long>(offset));
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    Site site;
    std::string function, of_the_simulator;
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
        if (text.empty() || text[0] == '?' || !site.own.empty()) continue;
        if (is_of_the_simulator(text)) {
            if (of_the_simulator.empty()) of_the_simulator = basename_of(text);
            const size_t name = function.find("asc_");
            if (name != std::string::npos && site.line.empty())
                site.instruction = function.substr(name, function.find_first_of("<(", name) - name);
            continue;
        }
        if (site.line.empty()) site.line = basename_of(text);
        if (!is_header(text)) site.own = basename_of(text);
    }
    if (site.line.empty()) site.line = of_the_simulator;
    return site;
}

// Where code is, also when its module is loaded anew: the module's file and the offset in it.
using Place = std::pair<std::string, uint64_t>;

Place place_of(uint64_t return_address) {
    Dl_info info;
    // One byte back: inside the call, not behind it.
    const auto* code = reinterpret_cast<const char*>(return_address) - 1;
    if (return_address == 0 || !dladdr(code, &info) || !info.dli_fname) return {};
    return {info.dli_fname, static_cast<uint64_t>(code - static_cast<const char*>(info.dli_fbase))};
}

// A deadlock of a whole grid names the same few lines again and again, and a look-up takes 10 ms.
Site site_at(uint64_t return_address) {
    static std::mutex mutex;
    static auto* known = new std::map<Place, Site>;
    const Place place = place_of(return_address);
    if (place.first.empty()) return {"unknown line", {}, {}};
    std::lock_guard lock(mutex);
    const auto [entry, is_new] = known->try_emplace(place);
    if (is_new) {
        entry->second = look_up(place.first, place.second);
        if (entry->second.line.empty())
            entry->second.line = format("%s+0x%llx", basename_of(place.first).c_str(), static_cast<unsigned long long>(place.second));
    }
    return entry->second;
}

const void* module_at(uint64_t address) {
    Dl_info info;
    return address && dladdr(reinterpret_cast<const char*>(address) - 1, &info) ? info.dli_fbase : nullptr;
}

// The line of the first caller on the stack that is in the kernel's own file.
std::string own_on_stack(uint64_t return_address, const Frames& stack) {
    const uint64_t *begin = stack.at, *end = stack.at + stack.count;
    const uint64_t* frame = std::find(begin, end, return_address);
    if (frame == end) {
        const uint64_t function = function_at(return_address);
        frame = std::find_if(begin, end, [&](uint64_t at) { return function && function_at(at) == function; });
    }
    const void* module = module_at(return_address);
    if (frame != end) {
        ++frame;
    } else {  // its last act was a jump: the caller's frame is the innermost one of the module
        if (module == module_at(reinterpret_cast<uint64_t>(&own_on_stack))) return {};
        frame = std::find_if(begin, end, [&](uint64_t at) { return module_at(at) == module; });
    }
    for (; frame != end; ++frame) {
        if (module_at(*frame) != module) continue;
        const Site site = site_at(*frame);
        if (!site.own.empty()) return site.own;
    }
    return {};
}

using Line = std::pair<std::string, int>;  // file, number

// The lines in the kernel's own file that lead into the function.
void collect_callers(uint64_t return_address, std::set<uint64_t>& seen, std::set<Line>& lines) {
    constexpr size_t kMostFunctions = 64;
    const uint64_t function = function_at(return_address);
    if (!function || seen.size() == kMostFunctions || !seen.insert(function).second) return;
    for (const uint64_t caller : callers_of(function)) {
        const std::string own = site_at(caller).own;
        const size_t colon = own.rfind(':');
        if (own.empty()) collect_callers(caller, seen, lines);
        else lines.insert({own.substr(0, colon), std::atoi(own.c_str() + colon + 1)});
    }
}

// "k.cpp:41, 57 or 60"
std::string own_of_callers(uint64_t return_address) {
    constexpr size_t kMostLines = 6;
    static std::mutex mutex;
    static auto* known = new std::map<Place, std::string>;
    std::lock_guard lock(mutex);
    const auto [entry, is_new] = known->try_emplace(place_of(return_address));
    std::string& text = entry->second;
    if (!is_new) return text;
    std::set<uint64_t> seen;
    std::set<Line> lines;
    collect_callers(return_address, seen, lines);
    std::string file;
    size_t told = 0;
    for (const auto& [name, number] : lines) {
        if (told == kMostLines) return text += " ..";
        if (told) text += told + 1 == lines.size() ? " or " : ", ";
        if (name != file) text += name + ":";
        text += std::to_string(number);
        file = name;
        ++told;
    }
    return text;
}

}  // namespace

Frames Frames::here() {
    Frames frames;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* out) {
            auto& f = *static_cast<Frames*>(out);
            if (f.count == kMost) return _URC_END_OF_STACK;
            int before = 0;  // of a frame that a signal interrupted
            const auto at = static_cast<uint64_t>(_Unwind_GetIPInfo(context, &before));
            f.at[f.count++] = at + static_cast<uint64_t>(before != 0);
            return _URC_NO_REASON;
        },
        &frames);
    return frames;
}

std::string source_line(uint64_t return_address, const Frames* stack) {
    const Site site = site_at(return_address);
    std::string own = site.own;
    if (own.empty() && stack) own = own_on_stack(return_address, *stack);
    if (own.empty()) own = own_of_callers(return_address);
    if (own.empty() || own == site.line) return site.line;
    return own + " (in " + site.line + ")";
}

std::string instruction_at(uint64_t return_address) { return site_at(return_address).instruction; }

}  // namespace ascend
