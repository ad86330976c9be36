// SPDX-License-Identifier: MIT
// How does a kernel that throws, aborts or exits end its launch, and nothing else?
#define ASCEND_SIM_KERNEL_TEXT_ITSELF  // what this library throws stays its own
#include "isa/kernel_text.h"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

#include "isa/instruction.h"

namespace ascend::isa {

namespace {

// The text may be compiled as code that cannot throw.
[[noreturn]] void end_kernel(const char* by, const void* pc, const std::string& what) {
    const std::string thread = simt_thread_name();
    give_up(*running_core, by, thread.empty() ? Pipe::S : Pipe::V, pc, (thread.empty() ? "" : thread + ": ") + what);
}

}  // namespace

void text_throws(void* object, void* type, void (*destroy)(void*), const void* pc) {
    auto* thrown = static_cast<std::type_info*>(type);
    if (!running_core) abi::__cxa_throw(object, thrown, destroy);
    int status = 0;
    char* readable = abi::__cxa_demangle(thrown->name(), nullptr, nullptr, &status);
    const std::string name = readable ? readable : thrown->name();
    std::free(readable);
    end_kernel("throw", pc, format("an exception of type %s; the chip has no exceptions", name.c_str()));
}

void text_aborts(const void* pc) {
    if (!running_core) std::abort();
    end_kernel("abort", pc, "called by kernel code; assert(condition) says more");
}

void text_exits(int status, const void* pc) {
    if (!running_core) std::exit(status);
    end_kernel("exit", pc, format("called by kernel code, with status %d; a kernel ends by returning", status));
}

}  // namespace ascend::isa
