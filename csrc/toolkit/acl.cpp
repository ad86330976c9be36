// SPDX-License-Identifier: MIT
// How does a launch by the vendor's runtime interface reach the emulated chip?
#include "toolkit/acl.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "chip/hbm.h"
#include "chip/memory.h"

namespace {

constexpr int32_t kInvalidParameter = 107000;  // the vendor's number for an argument that is not accepted
constexpr int32_t kLoadFailed = 107001;        // ours, as all other numbers: callers print them beside the message
constexpr int32_t kLaunchFailed = 507035;
constexpr int32_t kNoMemory = 207001;
constexpr int32_t kUbBytesAttribute = 2;

struct Function {
    std::string name;
    int core_type;
    void* entry;
    int data_independent;
};

struct Binary {
    std::map<std::string, std::unique_ptr<Function>> functions;
    void* call = nullptr;
    void* last_error = nullptr;
};

// As the caller lays them out (tilelang_ascend.md 2.4).
struct LaunchAttribute {
    int32_t id;
    union {
        uint32_t word;
        uint32_t reserved[4];
    };
};
struct LaunchConfig {
    LaunchAttribute* attributes;
    size_t count;
};

AscendSimCurrentDevice current_device = nullptr;
AscendSimLaunch launch = nullptr;
AscendSimLoad load = nullptr;

thread_local std::string error_text;
thread_local int32_t error_code = 0;

int32_t fail(int32_t code, const std::string& text) {
    error_text = text;
    return error_code = code;
}

// Kernels of binaries that were unloaded stay: profiles and fault messages name them, and their code is never unloaded.
std::mutex binaries_mutex;
std::deque<Binary> binaries;

Binary& new_binary() {
    std::lock_guard lock(binaries_mutex);
    return binaries.emplace_back();
}

int32_t load_into(Binary& binary, const void* data, size_t bytes) {
    if (!load)
        return fail(kLoadFailed, "the emulated chip is not attached in this process: `import ascend_sim.tilelang` first, "
                                 "or set ASCEND_SIM_SHIMS=toolkit");
    error_text.clear();
    if (load(data, bytes, &binary))
        return fail(kLoadFailed, error_text.empty() ? "the kernel could not be loaded" : error_text);
    return 0;
}

int32_t run(const Function& function, uint32_t blocks, uint32_t ub_bytes, void* stream, const void* args, size_t args_bytes) {
    if (!launch) return fail(kLaunchFailed, "the emulated chip is not attached in this process");
    if (blocks < 1 || blocks > 0x7fffffff)
        return fail(kInvalidParameter, function.name + ": " + std::to_string(blocks) + " blocks; expected 1 to 2^31 - 1");
    if (ub_bytes > ascend::kUbBytes)
        return fail(kInvalidParameter, function.name + ": " + std::to_string(ub_bytes) + " bytes of UB; a vector core has " + std::to_string(ascend::kUbBytes));
    thread_local std::vector<char> message(64 * 1024);
    if (launch(function.name.c_str(), function.core_type, function.entry, function.data_independent, blocks, ub_bytes, stream, args, args_bytes,
               message.data(), message.size()))
        return fail(kLaunchFailed, message.data());
    return 0;
}

}  // namespace

extern "C" {

int32_t aclrtGetDevice(int32_t* device) {
    if (!device) return fail(kInvalidParameter, "aclrtGetDevice: device is null");
    *device = current_device ? current_device() : 0;
    return 0;
}

int32_t aclrtBinaryLoadFromData(const void* data, size_t bytes, const void*, void** binary) {
    if (!data || !binary) return fail(kInvalidParameter, "aclrtBinaryLoadFromData: data or the place for the handle is null");
    Binary& made = new_binary();
    if (const int32_t code = load_into(made, data, bytes)) return code;
    *binary = &made;
    return 0;
}

int32_t aclrtBinaryGetFunction(void* binary, const char* name, void** function) {
    if (!binary || !name || !function) return fail(kInvalidParameter, "aclrtBinaryGetFunction: an argument is null");
    const auto& functions = static_cast<Binary*>(binary)->functions;
    const auto found = functions.find(name);
    if (found == functions.end()) {
        std::string known;
        for (const auto& [known_name, unused] : functions) known += (known.empty() ? "" : ", ") + known_name;
        return fail(kInvalidParameter, std::string("aclrtBinaryGetFunction: no kernel '") + name + "'; the binary has " + known);
    }
    *function = found->second.get();
    return 0;
}

int32_t aclrtBinaryUnLoad(void*) { return 0; }

int32_t aclrtLaunchKernelWithHostArgs(void* function, uint32_t blocks, void* stream, void* config, void* args,
                                      size_t args_bytes, void*, size_t) {
    if (!function || !args) return fail(kInvalidParameter, "aclrtLaunchKernelWithHostArgs: the function or its arguments are null");
    const auto& kernel = *static_cast<Function*>(function);
    uint32_t ub_bytes = 0;
    if (config) {
        const auto& given = *static_cast<LaunchConfig*>(config);
        for (size_t i = 0; i < given.count; ++i) {
            const LaunchAttribute& attribute = given.attributes[i];
            if (attribute.id == kUbBytesAttribute) ub_bytes = attribute.word;
        }
    }
    return run(kernel, blocks, ub_bytes, stream, args, args_bytes);
}

int32_t aclrtMalloc(void** p, size_t bytes, int) {
    if (!p) return fail(kInvalidParameter, "aclrtMalloc: the place for the address is null");
    try {
        *p = ascend::hbm(current_device ? current_device() : 0).allocate(bytes);
        return 0;
    } catch (const std::exception& error) {
        return fail(kNoMemory, std::string("aclrtMalloc: ") + error.what());
    }
}

int32_t aclrtFree(void* p) {
    ascend::Hbm* owner = ascend::hbm_containing(p);
    ascend::Hbm::Range range;
    if (!owner || !owner->find(p, &range) || range.begin != reinterpret_cast<uint64_t>(p))
        return fail(kInvalidParameter, "aclrtFree: the address is not one that aclrtMalloc gave");
    owner->free(p);
    return 0;
}

int32_t aclrtGetLastError(int) {
    const int32_t code = error_code;
    error_code = 0;
    return code;
}

const char* aclGetRecentErrMsg() { return error_text.c_str(); }

void ascend_sim_acl_attach(AscendSimCurrentDevice device_source, AscendSimLaunch launcher, AscendSimLoad loader) {
    current_device = device_source;
    launch = launcher;
    load = loader;
}

void ascend_sim_acl_add_kernel(void* binary, const char* name, int core_type, void* entry, int data_independent) {
    static_cast<Binary*>(binary)->functions[name] = std::make_unique<Function>(Function{name, core_type, entry, data_independent});
}

void ascend_sim_acl_set_host_library(void* binary, void* call, void* last_error) {
    static_cast<Binary*>(binary)->call = call;
    static_cast<Binary*>(binary)->last_error = last_error;
}

void ascend_sim_acl_set_error(const char* message) { error_text = message; }

int32_t ascend_sim_acl_launch(const char* name, int core_type, void* entry, uint32_t blocks, uint32_t ub_bytes, void* stream, const void* args,
                              size_t args_bytes) {
    return run({name, core_type, entry, 0}, blocks, ub_bytes, stream, args, args_bytes);
}

int32_t ascend_sim_acl_host_library(const void* data, size_t bytes, void** call, void** last_error) {
    Binary& made = new_binary();
    if (const int32_t code = load_into(made, data, bytes)) return code;
    *call = made.call;
    *last_error = made.last_error;
    return 0;
}

}  // extern "C"
