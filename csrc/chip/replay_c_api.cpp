// SPDX-License-Identifier: MIT
// How do tests reach the chip description, the L2 and the replay without a kernel? Plain C functions for ctypes.
// Errors: functions that can fail return a message, which the caller frees with ascend_test_free; null is success.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "chip/fault.h"
#include "chip/l2.h"
#include "chip/replay.h"
#include "chip/spec.h"

using namespace ascend;

namespace {

struct TestChip {
    ChipSpec spec;
};

struct TestTrace {
    LaunchTrace trace;
    ReplayResult result;
};

template <class F>
char* guarded(F f) {
    try {
        f();
        return nullptr;
    } catch (const std::exception& error) {
        return strdup(error.what());
    }
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void ascend_test_free(char* text) { std::free(text); }

// ---- chip description
TestChip* ascend_test_chip_new() { return new TestChip{default_chip_spec()}; }
void ascend_test_chip_delete(TestChip* chip) { delete chip; }
char* ascend_test_chip_make(TestChip* chip, const char* name, const char* const* names, const double* values, int count) {
    return guarded([&] {
        std::map<std::string, double> figures;
        for (int i = 0; i < count; ++i) figures[names[i]] = values[i];
        chip->spec = make_chip_spec(name, figures);
    });
}
char* ascend_test_chip_set(TestChip* chip, const char* name, double value) {
    return guarded([&] { chip->spec.set(name, value); });
}
char* ascend_test_chip_get(const TestChip* chip, const char* name, double* value) {
    return guarded([&] { *value = chip->spec.get(name); });
}
double ascend_test_chip_launch_us(const TestChip* chip, int blocks) { return chip->spec.launch_overhead_us(blocks); }
// All names, separated by new lines.
char* ascend_test_chip_names() {
    std::string all;
    for (const std::string& name : ChipSpec::names()) all += name + "\n";
    return strdup(all.c_str());
}

// ---- L2
L2State* ascend_test_l2_new(double capacity_bytes) {
    auto l2 = std::make_unique<L2State>();
    l2->set_capacity(capacity_bytes);
    return l2.release();
}
void ascend_test_l2_delete(L2State* l2) { delete l2; }
void ascend_test_l2_flush(L2State* l2) { l2->flush(); }
// out: sectors, missing, written back, fill, pending fills
void ascend_test_l2_access(L2State* l2, const GmFootprint* gm, uint32_t outer, int is_write, int hint, uint64_t* out) {
    const L2State::Access access = l2->access(*gm, outer, is_write != 0, static_cast<uint8_t>(hint));
    out[0] = access.sectors;
    out[1] = access.missing;
    out[2] = access.writeback;
    out[3] = access.fill;
    out[4] = static_cast<uint64_t>(access.pendings);
}
void ascend_test_l2_end_fill(L2State* l2, uint32_t fill) { l2->end_fill(fill); }
int ascend_test_l2_holds(const L2State* l2, uint64_t address) { return l2->holds(address); }
uint64_t ascend_test_l2_dirty_bytes(const L2State* l2) { return l2->dirty_bytes(); }

// ---- replay
TestTrace* ascend_test_trace_new(int ai_cores, int blocks, int mixed) {
    auto* test = new TestTrace;
    test->trace.ai_cores.resize(static_cast<size_t>(ai_cores));
    test->trace.blocks = blocks;
    test->trace.mixed = mixed != 0;
    return test;
}
void ascend_test_trace_delete(TestTrace* test) { delete test; }
void ascend_test_trace_append(TestTrace* test, int ai_core, int kind, const Record* records, uint64_t count) {
    CoreTrace& trace = test->trace.ai_cores[static_cast<size_t>(ai_core)].of[kind];
    for (uint64_t i = 0; i < count; ++i) trace.append() = records[i];
}
void ascend_test_trace_next_block(TestTrace* test, int ai_core) {
    AiCoreTrace& core = test->trace.ai_cores[static_cast<size_t>(ai_core)];
    core.block_starts.push_back({static_cast<uint32_t>(core.of[0].size()), static_cast<uint32_t>(core.of[1].size()),
                                 static_cast<uint32_t>(core.of[2].size())});
}
char* ascend_test_replay(TestTrace* test, const TestChip* chip, L2State* l2, int keep_times) {
    return guarded([&] {
        ReplayOptions options;
        options.keep_times = keep_times != 0;
        test->result = replay(test->trace, chip->spec, *l2, options);
    });
}
// out: cycles, us, launch us, GM bytes read, written, L2 bytes, HBM bytes read, written, MACs, violations
void ascend_test_result(const TestTrace* test, double* out) {
    const ReplayResult& r = test->result;
    const double values[] = {r.cycles,
                             r.us,
                             r.launch_us,
                             static_cast<double>(r.gm_read_bytes),
                             static_cast<double>(r.gm_written_bytes),
                             static_cast<double>(r.l2_bytes),
                             static_cast<double>(r.hbm_read_bytes),
                             static_cast<double>(r.hbm_written_bytes),
                             r.macs,
                             static_cast<double>(r.violations.size())};
    std::memcpy(out, values, sizeof values);
}
// out: for each record begin and end
void ascend_test_times(const TestTrace* test, int ai_core, int kind, double* out) {
    const auto& times = test->result.times[static_cast<size_t>(ai_core)][static_cast<size_t>(kind)];
    std::memcpy(out, times.data(), times.size() * sizeof(RecordTime));
}
// out: busy and waiting cycles
void ascend_test_pipe_use(const TestTrace* test, int ai_core, int kind, int pipe, double* out) {
    const PipeUse& use = test->result.cores[static_cast<size_t>(ai_core)][static_cast<size_t>(kind)].pipe[pipe];
    out[0] = use.busy_cycles;
    out[1] = use.wait_cycles;
}
// out: kind, AI core, core kind, record, at, other
void ascend_test_violation(const TestTrace* test, int index, double* out) {
    const Violation& v = test->result.violations[static_cast<size_t>(index)];
    out[0] = static_cast<double>(v.kind);
    out[1] = v.ai_core;
    out[2] = static_cast<double>(v.core);
    out[3] = static_cast<double>(v.record);
    out[4] = v.at_cycles;
    out[5] = v.other_cycles;
}

#pragma GCC visibility pop
}
