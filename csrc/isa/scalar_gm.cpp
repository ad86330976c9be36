// SPDX-License-Identifier: MIT
// Rules and record of scalar accesses to global memory; the access itself is the caller's.
#include "isa/scalar_gm.h"

#include "isa/instruction.h"
#include "isa/simt_launch.h"

namespace ascend::isa {

namespace {
const uint16_t op_load = register_op("asc_load_dev", [](Core&, const Record&) {});
const uint16_t op_store = register_op("asc_store_dev", [](Core&, const Record&) {});
}  // namespace

void scalar_gm_access(const char* name, const void* address, uint32_t bytes, bool is_write, const void* pc) {
    const Issue issue{this_core(), name, Pipe::S, pc};
    const auto at = reinterpret_cast<uint64_t>(address);
    if (at % bytes) issue.fail(format("global memory 0x%llx is not %u-byte aligned", static_cast<unsigned long long>(at), bytes));
    issue.global(is_write ? "destination" : "source", {at, 0, 0, bytes, 1}, 1);
    if (simt.is_running) return;  // part of the SIMT function's record
    Record record{};
    record.op = is_write ? op_store : op_load;
    record.pipe = Pipe::S;
    record.path = Path::scalar_gm;
    record.amount = bytes;
    record.gm.gm = {at, 0, 0, bytes, 1};
    record.gm.outer = 1;
    record.gm.is_write = is_write;
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
