// SPDX-License-Identifier: MIT
// The runtime API names that kernel sources include. Device code needs only the status type.
#pragma once

typedef int aclError;
constexpr aclError ACL_SUCCESS = 0;
