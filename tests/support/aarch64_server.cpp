// SPDX-License-Identifier: MIT
// How do tests of an x86-64 host call code compiled for aarch64? This program runs under qemu and does what standard input asks, one call after another.
//
// A message is numbers of 8 bytes and strings (length, bytes). Asked: kind, shared object, symbol, and
//   call:    arguments                            the function, with up to 8 integers or addresses and one float
//   launch:  name, core type, blocks, arguments   the kernel entry, on memory of npu:0
//   text:                                         a function without arguments that returns a string
// An argument is 0, alignment and its bytes; 1 and the bytes of a buffer; or 2 and the bits of a float. Answered: 0, a number or text, and the buffers' bytes; or 1 and a message.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "chip/device.h"

extern "C" int ascend_sim_launch(const char* name, int core_type, void* entry, int data_independent, int device, int stream, int blocks,
                                 const void* args, char* error, size_t error_bytes);

namespace {

int answers;  // a descriptor: device printf writes to standard output

void receive(void* to, size_t bytes) {
    for (auto* at = static_cast<char*>(to); bytes;) {
        const ssize_t n = read(0, at, bytes);
        if (n <= 0) std::exit(0);
        at += n, bytes -= static_cast<size_t>(n);
    }
}
void send(const void* from, size_t bytes) {
    for (auto* at = static_cast<const char*>(from); bytes;) {
        const ssize_t n = write(answers, at, bytes);
        if (n <= 0) std::exit(1);
        at += n, bytes -= static_cast<size_t>(n);
    }
}
uint64_t number() {
    uint64_t n;
    receive(&n, sizeof n);
    return n;
}
std::string text() {
    std::string s(number(), 0);
    receive(s.data(), s.size());
    return s;
}
void send_number(uint64_t n) { send(&n, sizeof n); }
void send_text(const std::string& s) {
    send_number(s.size());
    send(s.data(), s.size());
}

struct Buffer {
    void* data;
    uint64_t bytes;
};
struct Arguments {
    std::vector<uint8_t> packed;    // as a kernel takes them
    std::vector<uint64_t> words;    // as a function takes them
    float single = 0;
    std::vector<Buffer> buffers;

    template <class Allocate>
    explicit Arguments(Allocate allocate) {
        for (uint64_t left = number(); left; --left) {
            const uint64_t kind = number();
            if (kind == 2) {
                const auto bits = static_cast<uint32_t>(number());
                std::memcpy(&single, &bits, sizeof single);
            } else if (kind == 1) {
                const uint64_t bytes = number();
                buffers.push_back({allocate(bytes), bytes});
                receive(buffers.back().data, bytes);
                words.push_back(reinterpret_cast<uint64_t>(buffers.back().data));
                append(&words.back(), 8, 8);
            } else {
                const uint64_t alignment = number();
                const std::string value = text();
                words.push_back(0);
                std::memcpy(&words.back(), value.data(), value.size() < 8 ? value.size() : 8);
                append(value.data(), value.size(), alignment);
            }
        }
    }
    void append(const void* data, size_t bytes, size_t alignment) {
        packed.resize((packed.size() + alignment - 1) / alignment * alignment);
        packed.insert(packed.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + bytes);
    }
    void send_back(ascend::Hbm* hbm) {
        for (const Buffer& buffer : buffers) {
            send(buffer.data, buffer.bytes);
            hbm ? hbm->free(buffer.data) : std::free(buffer.data);
        }
    }
};

void* symbol(const std::string& library, const std::string& name) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* found = handle ? dlsym(handle, name.c_str()) : nullptr;
    if (!found) throw std::runtime_error(dlerror());
    return found;
}

void answer() {
    enum { call, launch, name_text };
    const uint64_t kind = number();
    const std::string library = text(), name = text();
    void* function = symbol(library, name);
    if (kind == call) {
        Arguments arguments([](uint64_t bytes) { return std::aligned_alloc(256, (bytes + 511) / 256 * 256); });
        auto& w = arguments.words;
        if (w.size() > 8) throw std::runtime_error(name + ": more than 8 integers and addresses");
        w.resize(8);
        // Integers and floating-point numbers travel in registers of their own, each kind in its order.
        using Function = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, float);
        const uint64_t result = reinterpret_cast<Function>(function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], arguments.single);
        send_number(0);
        send_number(result);
        arguments.send_back(nullptr);
    } else if (kind == launch) {
        const std::string title = text();
        const auto core_type = static_cast<int>(number()), blocks = static_cast<int>(number());
        ascend::Hbm& hbm = ascend::device(0).hbm;
        Arguments arguments([&](uint64_t bytes) { return hbm.allocate(bytes); });
        char message[4096];
        const int failed = ascend_sim_launch(title.c_str(), core_type, function, 0, 0, 0, blocks, arguments.packed.data(), message, sizeof message);
        send_number(static_cast<uint64_t>(failed));
        send_text(failed ? message : "");
        arguments.send_back(&hbm);
    } else {
        send_number(0);
        send_text(reinterpret_cast<const char* (*)()>(function)());
    }
}

}  // namespace

int main(int, char** argv) {
    answers = std::atoi(argv[1]);
    for (;;) {
        try {
            answer();
        } catch (const std::exception& failure) {
            send_number(1);
            send_text(failure.what());
            return 1;   // the rest of the question has not been read
        }
    }
}
