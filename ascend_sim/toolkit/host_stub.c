// SPDX-License-Identifier: MIT
// What does TileLang's `cython` backend keep and load? The container, and the three functions it calls. They forward to the
// library that the container is compiled to for this host and this version, when init() is called.
#include <dlfcn.h>
#include <stddef.h>

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden ascend_sim_image\n.globl ascend_sim_image\nascend_sim_image:\n.incbin \"image.bin\"\n"
        ".hidden ascend_sim_image_end\n.globl ascend_sim_image_end\nascend_sim_image_end:\n"
        ".previous\n");
extern const char ascend_sim_image[], ascend_sim_image_end[];

static const char* message = "";
static const char* (*last_error)(void) = NULL;

static int not_initialised(void) {
    message = "init() was not called, or it failed";
    return -1;
}
__attribute__((visibility("hidden"))) void* ascend_sim_call = (void*)not_initialised;

int init(void) {
    void* runtime = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);  // ours is loaded, or nobody attached the chip
    int (*load)(const void*, size_t, void**, void**) = NULL;
    if (runtime) *(void**)&load = dlsym(runtime, "ascend_sim_acl_host_library");
    if (!load) {
        message = "the emulated chip is not attached in this process: import ascend_sim.tilelang first";
        return -1;
    }
    void *call = NULL, *error = NULL;
    const int code = load(ascend_sim_image, (size_t)(ascend_sim_image_end - ascend_sim_image), &call, &error);
    if (code) {
        const char* (*recent)(void) = NULL;
        *(void**)&recent = dlsym(runtime, "aclGetRecentErrMsg");
        message = recent ? recent() : "the kernel could not be loaded";
        return code;
    }
    ascend_sim_call = call;
    *(void**)&last_error = error;
    return 0;
}

const char* get_last_error(void) { return last_error ? last_error() : message; }

// int call(...): whatever the arguments are, they are where the real one expects them.
#if defined(__x86_64__)
__asm__(".text\n.globl call\n.type call, @function\n\"call\":\n    jmp *ascend_sim_call(%rip)\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl call\n.type call, %function\n\"call\":\n"
        "    adrp x16, ascend_sim_call\n    ldr x16, [x16, #:lo12:ascend_sim_call]\n    br x16\n");
#else
#error "kernels run on x86-64 and aarch64"
#endif
