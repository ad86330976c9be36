// SPDX-License-Identifier: MIT
// What happens when kernel text throws, or asks the host to end the process? The chip has neither: the launch ends with an error.
//
// Kernels given as text are linked so that their calls of these functions come here (--wrap; the list is LINK_FLAGS of
// ascend_sim/jit/host_compiler.py). What the process itself calls is not touched, and outside a kernel (static initialisers)
// they do what they always do. Trap instructions, as __builtin_trap makes them: chip/trap.cpp.
#include <cxxabi.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <typeinfo>

#include "chip/source_line.h"
#include "chip/trap.h"
#include "isa/instruction.h"

using ascend::format;

extern "C" [[noreturn]] void __assert_fail(const char* condition, const char* file, unsigned line, const char* function) noexcept;

namespace ascend::isa {

namespace {

bool in_kernel() { return running_core != nullptr; }

// The text may be compiled as code that cannot throw.
[[noreturn]] void end_kernel(const char* by, const void* pc, const std::string& what) {
    const std::string thread = simt_thread_name();
    give_up(*running_core, by, thread.empty() ? Pipe::S : Pipe::V, pc, (thread.empty() ? "" : thread + ": ") + what);
}

std::string readable(const std::type_info& type) {
    int status = 0;
    char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
    const std::string text = name ? name : type.name();
    std::free(name);
    return text;
}

constexpr char kNoExceptions[] = "the chip has no exceptions";
constexpr char kReturns[] = "a kernel ends by returning, assert(condition) ends the launch";

// Where the running stack is in the object of the text, whose outermost frame is its entry; ours are around it.
const void* innermost_of_text() {
    const Frames stack = Frames::here();
    const void *text = nullptr, *pc = nullptr;
    for (int i = stack.count; i-- > 0;) {
        Dl_info code;
        if (!is_kernel_code(stack.at[i] - 1) || !dladdr(reinterpret_cast<const void*>(stack.at[i] - 1), &code)) continue;
        if (!text) text = code.dli_fbase;
        if (code.dli_fbase == text) pc = reinterpret_cast<const void*>(stack.at[i]);
    }
    return pc;
}

// An exception met a function of the text that may not throw: one of ours, which says what is wrong already, or a library's. The runtime
// has caught it, and nobody would let go of it.
[[noreturn]] void end_by_exception() {
    enum { ended, cancelled, thrown } how = thrown;
    std::string what = "an exception of type " + readable(*abi::__cxa_current_exception_type()) + " left a function that may not throw";
    const std::exception_ptr error = std::current_exception();
    abi::__cxa_end_catch();
    try {
        std::rethrow_exception(error);
    } catch (const FiberCancelled&) {
        how = cancelled;
    } catch (const LaunchError&) {
        how = ended;
    } catch (const std::exception& known) {
        what += format(": %s; %s", known.what(), kNoExceptions);
    } catch (...) {
        what += format("; %s", kNoExceptions);
    }
    if (how == thrown) end_kernel("std::terminate", innermost_of_text(), what);
    forget_simt_launch();
    running_core->fiber.abandon(how == ended ? error : nullptr);
}

std::terminate_handler previous_terminate;
[[noreturn]] void terminated() {
    if (in_kernel() && abi::__cxa_current_exception_type()) end_by_exception();
    if (in_kernel()) end_kernel("std::terminate", innermost_of_text(), "called by a library");
    if (previous_terminate) previous_terminate();
    std::abort();
}
const bool hooked = (previous_terminate = std::set_terminate(terminated), true);

}  // namespace

}  // namespace ascend::isa

using namespace ascend::isa;

#define ASC_HERE __builtin_return_address(0)
#define ASC_INSTEAD_OF(symbol, ...) extern "C" [[gnu::visibility("default")]] void __wrap_##symbol(__VA_ARGS__)
// symbol, its parameters, what to say, what to do outside a kernel
#define ASC_ENDS(symbol, parameters, name, what, otherwise) \
    ASC_INSTEAD_OF(symbol, ASC_ARGUMENTS parameters) {      \
        if (in_kernel()) end_kernel(name, ASC_HERE, what);  \
        otherwise;                                          \
    }
#define ASC_ARGUMENTS(...) __VA_ARGS__

ASC_ENDS(abort, (), "abort", format("called by kernel code; %s", kReturns), std::abort())
ASC_ENDS(exit, (int status), "exit", format("called by kernel code, with status %d; %s", status, kReturns), std::exit(status))
ASC_ENDS(_exit, (int status), "_exit", format("called by kernel code, with status %d; %s", status, kReturns), ::_exit(status))
ASC_ENDS(_Exit, (int status), "_Exit", format("called by kernel code, with status %d; %s", status, kReturns), std::_Exit(status))
ASC_ENDS(quick_exit, (int status), "quick_exit", format("called by kernel code, with status %d; %s", status, kReturns), std::quick_exit(status))
ASC_INSTEAD_OF(_ZSt9terminatev, ) {
    if (in_kernel() && abi::__cxa_current_exception_type()) end_by_exception();  // clang's code catches it and calls this
    if (in_kernel()) end_kernel("std::terminate", ASC_HERE, format("called by kernel code, or an exception left a function that may not throw; %s", kReturns));
    std::terminate();
}
extern "C" [[gnu::visibility("default")]] int __wrap_raise(int signal) {
    if (in_kernel()) end_kernel("raise", ASC_HERE, format("signal %d raised by kernel code; %s", signal, kReturns));
    return ::raise(signal);
}
ASC_ENDS(__assert_fail, (const char* condition, const char* file, unsigned line, const char* function), "assert",
         format("assertion failed: %s", condition), ::__assert_fail(condition, file, line, function))
ASC_ENDS(__cxa_pure_virtual, (), "virtual call", "a pure virtual function was called", std::abort())
ASC_ENDS(__stack_chk_fail, (), "local variables", "a local array was written beyond its end", std::abort())

// What is thrown, in memory of this library's: text may write there under the memory check. The throw ends the kernel, so that one is enough. Larger ones stay where they are.
namespace {
alignas(std::max_align_t) thread_local unsigned char thrown[96];
}
extern "C" [[gnu::visibility("default")]] void* __wrap___cxa_allocate_exception(size_t bytes) {
    return in_kernel() && bytes <= sizeof thrown ? thrown : abi::__cxa_allocate_exception(bytes);
}
extern "C" [[gnu::visibility("default")]] void __wrap___cxa_free_exception(void* exception) {
    if (exception != thrown) abi::__cxa_free_exception(exception);
}
ASC_ENDS(__cxa_throw, (void* object, std::type_info* type, void (*destroy)(void*)), "throw",
         format("an exception of type %s; %s", readable(*type).c_str(), kNoExceptions), abi::__cxa_throw(object, type, destroy))
ASC_ENDS(__cxa_rethrow, (), "throw", kNoExceptions, abi::__cxa_rethrow())
// What the library's own headers throw by: their text says more than the type.
ASC_ENDS(_ZSt20__throw_length_errorPKc, (const char* text), "throw", format("std::length_error: %s; %s", text, kNoExceptions), throw std::length_error(text))
ASC_ENDS(_ZSt19__throw_logic_errorPKc, (const char* text), "throw", format("std::logic_error: %s; %s", text, kNoExceptions), throw std::logic_error(text))
ASC_ENDS(_ZSt24__throw_invalid_argumentPKc, (const char* text), "throw", format("std::invalid_argument: %s; %s", text, kNoExceptions),
         throw std::invalid_argument(text))
ASC_ENDS(_ZSt20__throw_out_of_rangePKc, (const char* text), "throw", format("std::out_of_range: %s; %s", text, kNoExceptions), throw std::out_of_range(text))
ASC_ENDS(_ZSt25__throw_bad_function_callv, (), "throw", format("a call of an empty std::function; %s", kNoExceptions), throw std::runtime_error("bad_function_call"))
extern "C" [[gnu::visibility("default")]] void __wrap__ZSt24__throw_out_of_range_fmtPKcz(const char* pattern, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);  // %zu and %s are all that these have
    va_end(arguments);
    if (in_kernel()) end_kernel("throw", ASC_HERE, format("std::out_of_range: %s; %s", text, kNoExceptions));
    throw std::out_of_range(text);
}
