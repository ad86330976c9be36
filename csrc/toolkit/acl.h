// SPDX-License-Identifier: MIT
// Which calls of the vendor's runtime does libascendcl.so answer, and what does the Python side tell it?
//
// TileLang's runtime module looks for the aclrt* names in a library called libascendcl.so; so does a host library that
// holds a kernel and its launcher. Everything else of that runtime belongs to PyTorch here.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Status: 0 is success. The text of the last failure in this thread: aclGetRecentErrMsg.
int32_t aclrtGetDevice(int32_t* device);
int32_t aclrtBinaryLoadFromData(const void* data, size_t bytes, const void* options, void** binary);
int32_t aclrtBinaryGetFunction(void* binary, const char* name, void** function);
int32_t aclrtBinaryUnLoad(void* binary);
int32_t aclrtLaunchKernelWithHostArgs(void* function, uint32_t blocks, void* stream, void* config, void* args,
                                      size_t args_bytes, void* reserved, size_t reserved_bytes);
int32_t aclrtGetLastError(int level);  // and clears it
const char* aclGetRecentErrMsg();
// Memory of the current device, for allocators that are plugged into PyTorch. `policy` has no effect.
int32_t aclrtMalloc(void** p, size_t bytes, int policy);
int32_t aclrtFree(void* p);

// What ascend_sim.toolkit.runtime provides.
using AscendSimCurrentDevice = int (*)();
// On the current device. Returns 0, or 1 with the message in `error`.
// ub_bytes: of UB that the launch allocates; 0 where it does not say.
using AscendSimLaunch = int (*)(const char* name, int core_type, void* entry, int data_independent, uint32_t blocks, uint32_t ub_bytes, void* stream,
                                const void* args, size_t args_bytes, char* error, size_t error_bytes);
// Turns a container (ascend_sim/toolkit/container.py) into kernels, by ascend_sim_acl_add_kernel on `binary`, or into a
// host library, by ascend_sim_acl_set_host_library. Returns 0, or 1 after ascend_sim_acl_set_error.
using AscendSimLoad = int (*)(const void* data, size_t bytes, void* binary);

void ascend_sim_acl_attach(AscendSimCurrentDevice current_device, AscendSimLaunch launch, AscendSimLoad load);
void ascend_sim_acl_add_kernel(void* binary, const char* name, int core_type, void* entry, int data_independent);
void ascend_sim_acl_set_host_library(void* binary, void* call, void* last_error);
void ascend_sim_acl_set_error(const char* message);

// For a host library: its own launches, and for the stub that TileLang keeps: the addresses of call and get_last_error.
int32_t ascend_sim_acl_launch(const char* name, int core_type, void* entry, uint32_t blocks, uint32_t ub_bytes, void* stream, const void* args,
                              size_t args_bytes);
int32_t ascend_sim_acl_host_library(const void* data, size_t bytes, void** call, void** last_error);

}  // extern "C"
