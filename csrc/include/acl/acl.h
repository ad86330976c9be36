// SPDX-License-Identifier: MIT
// The runtime API names that kernel sources include. Device code needs only the status type, a launcher the last status.
#pragma once

typedef int aclError;
constexpr aclError ACL_SUCCESS = 0;
enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 };
extern "C" int aclrtGetLastError(int level);
