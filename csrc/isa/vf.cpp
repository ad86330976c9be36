// SPDX-License-Identifier: MIT
// Storage of the vector-function counters.
#include "isa/vf.h"

namespace ascend::isa {

__thread bool in_vector_function __attribute__((tls_model("initial-exec"), visibility("default")));
__thread VfCounts vf_counts __attribute__((tls_model("initial-exec"), visibility("default")));

}  // namespace ascend::isa
