// SPDX-License-Identifier: MIT
// Which name of a chip file is which figure?
#include "chip/spec.h"

#include "chip/core_limit.h"

#include <algorithm>
#include <forward_list>
#include <mutex>
#include <set>
#include <stdexcept>

namespace ascend {

namespace {

struct PathName {
    Path path;
    const char* name;
};
// The paths a chip file describes: all but those that move nothing.
constexpr PathName kPathNames[] = {
    {Path::gm_to_l1, "gm_to_l1"},       {Path::gm_to_ub, "gm_to_ub"},
    {Path::ub_to_gm, "ub_to_gm"},       {Path::ub_to_l1, "ub_to_l1"},
    {Path::l1_to_l0a, "l1_to_l0a"},     {Path::l1_to_l0b, "l1_to_l0b"},
    {Path::l1_to_l0b_transposed, "l1_to_l0b_transposed"},
    {Path::l1_to_l0_mx, "l1_to_l0_mx"}, {Path::l1_to_bt, "l1_to_bt"},
    {Path::l1_to_fb, "l1_to_fb"},       {Path::l1_to_ub, "l1_to_ub"},
    {Path::fill_l1, "fill_l1"},         {Path::l0c_to_ub, "l0c_to_ub"},
    {Path::l0c_to_ub_dual, "l0c_to_ub_dual"},
    {Path::l0c_to_l1, "l0c_to_l1"},     {Path::l0c_to_gm, "l0c_to_gm"},
    {Path::scalar_gm, "scalar_gm"},
};
constexpr const char* kPipeKeys[kPipes] = {"s", "m", "v", "mte1", "mte2", "mte3", "fix"};
constexpr const char* kVfClassKeys[kVfClasses] = {"alu",  "alu_int32", "special", "cast",   "reduce",
                                                  "load", "store",     "permute", "gather", "mask"};

// Calls f(name, figure, is_required) for every figure that a chip file gives.
template <class Spec, class F>
void visit(Spec& spec, F&& f) {
    f("cores.ai_cores", spec.cores, true);
    f("clock.frequency", spec.clock_hz, true);
    f("hbm.capacity", spec.hbm_capacity_bytes, true);
    f("hbm.bandwidth", spec.hbm_bytes_per_s, true);
    f("hbm.latency", spec.hbm_latency_cycles, true);
    f("l2.capacity", spec.l2_capacity_bytes, true);
    f("l2.bandwidth", spec.l2_bytes_per_s, true);
    for (int i = 0; i < ChipSpec::kLaunchPoints; ++i)
        f("launch.blocks_" + std::to_string(ChipSpec::launch_blocks[i]), spec.launch_us[i], true);
    f("scalar.issue", spec.scalar_issue_cycles, true);
    for (int i = 0; i < kPipes; ++i) f(std::string("queue.") + kPipeKeys[i], spec.queue_depth[i], true);
    f("sync.flag", spec.flag_cycles, true);
    f("sync.cross_flag", spec.cross_flag_cycles, true);
    f("sync.grid_barrier", spec.grid_barrier_cycles, true);
    f("cube.latency", spec.cube_latency_cycles, true);
    f("cube.mx_min_extent", spec.cube_mx_min_extent, true);
    for (int i = 0; i < kElementTypes; ++i)
        f(std::string("cube.macs.") + element_name(static_cast<ElementType>(i)), spec.cube_macs_per_cycle[i], true);
    f("fix.elements", spec.fix_elements_per_cycle, true);
    f("fix.c0_strided", spec.fix_c0_strided_factor, true);
    f("vf.start", spec.vf_start_cycles, true);
    f("vf.drain", spec.vf_drain_cycles, true);
    f("simt.schedulers", spec.simt_schedulers, true);
    f("simt.warp", spec.simt_warp_cycles, true);
    f("simt.operation", spec.simt_operation_cycles, true);
    f("simt.exchange", spec.simt_exchange_cycles, true);
    f("simt.barrier", spec.simt_barrier_cycles, true);
    f("simt.ub_atomic", spec.simt_ub_atomic_cycles, true);
    f("simt.gm_atomic", spec.simt_gm_atomic_cycles, true);
    f("simt.gm_atomic_again", spec.simt_gm_atomic_again_cycles, true);
    f("simt.gm_rate", spec.simt_gm_bytes_per_cycle, true);
    f("simt.gm_latency", spec.simt_gm_latency_cycles, true);
    for (int i = 0; i < kVfClasses; ++i) {
        const std::string key = std::string("vf.") + kVfClassKeys[i];
        f(key + ".issue", spec.vf_class[i].issue_cycles, true);
        f(key + ".write", spec.vf_class[i].write_cycles, true);
        f(key + ".memory", spec.vf_class[i].memory_cycles, true);
        f(key + ".unit", spec.vf_class[i].unit_cycles, true);
    }
    for (const PathName& entry : kPathNames) {
        const std::string key = std::string("path.") + entry.name;
        auto& path = spec.path[static_cast<int>(entry.path)];
        f(key + ".rate", path.bytes_per_cycle, true);
        f(key + ".latency", path.latency_cycles, true);
        f(key + ".issue", path.issue_cycles, false);
        f(key + ".interval", path.interval_cycles, false);
        f(key + ".window", path.window_bytes, false);
        f(key + ".requests", path.requests, false);
    }
}

struct Default {
    const char* name;
    double value;
};
constexpr const char* kDefaultName =
#include "chip/spec_default_name.inc"
    ;
constexpr Default kDefaults[] = {
#include "chip/spec_default.inc"
};

std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::mutex current_mutex;
// The newest in front. None is ever freed: a launch may still read the one before. Chips change a few times in a process.
std::forward_list<ChipSpec>& specs() {
    static auto* all = new std::forward_list<ChipSpec>{default_chip_spec()};
    return *all;
}

}  // namespace

const char* path_name(Path path) {
    for (const PathName& entry : kPathNames)
        if (entry.path == path) return entry.name;
    switch (path) {
        case Path::sync: return "sync";
        case Path::cube: return "cube";
        case Path::vector: return "vector";
        case Path::simt: return "simt";
        default: return "none";
    }
}

void ChipSpec::set(const std::string& key, double value) {
    bool found = false;
    visit(*this, [&](const std::string& name, auto& figure, bool) {
        if (name != key) return;
        figure = static_cast<std::remove_reference_t<decltype(figure)>>(value);
        found = true;
    });
    if (!found) throw std::invalid_argument("chip description: unknown constant " + key);
}

double ChipSpec::get(const std::string& key) const {
    double value = 0;
    bool found = false;
    visit(*this, [&](const std::string& name, const auto& figure, bool) {
        if (name != key) return;
        value = figure;
        found = true;
    });
    if (!found) throw std::invalid_argument("chip description: unknown constant " + key);
    return value;
}

std::vector<std::string> ChipSpec::names() {
    std::vector<std::string> names;
    ChipSpec spec;
    visit(spec, [&](const std::string& name, auto&, bool) { names.push_back(name); });
    return names;
}

// Linear between the measured points, and on with the last slope.
double ChipSpec::launch_overhead_us(int blocks) const {
    if (blocks <= 0) return 0;
    int i = 0;
    while (i < kLaunchPoints - 2 && blocks > launch_blocks[i + 1]) ++i;
    const double slope = (launch_us[i + 1] - launch_us[i]) / (launch_blocks[i + 1] - launch_blocks[i]);
    return launch_us[i] + slope * (blocks - launch_blocks[i]);
}

ChipSpec make_chip_spec(const std::string& name, const std::map<std::string, double>& values) {
    ChipSpec spec;
    spec.name = name;
    std::set<std::string> unknown;
    for (const auto& [key, value] : values) unknown.insert(key);
    std::vector<std::string> missing;
    visit(spec, [&](const std::string& key, auto& figure, bool is_required) {
        const auto found = values.find(key);
        if (found != values.end()) {
            figure = static_cast<std::remove_reference_t<decltype(figure)>>(found->second);
            unknown.erase(key);
        } else if (is_required) {
            missing.push_back(key);
        }
    });
    std::string faults;
    if (!missing.empty()) faults += " missing: " + join(missing) + ".";
    if (!unknown.empty()) faults += " unknown: " + join({unknown.begin(), unknown.end()}) + ".";
    if (spec.cores < 1) faults += " cores.ai_cores must be at least 1.";
    if (!(spec.clock_hz > 0)) faults += " clock.frequency must be positive.";
    if (!faults.empty()) throw std::invalid_argument("chip " + name + ":" + faults);
    return spec;
}

ChipSpec default_chip_spec() {
    std::map<std::string, double> values;
    for (const Default& entry : kDefaults) values[entry.name] = entry.value;
    return make_chip_spec(kDefaultName, values);
}

namespace {
thread_local const ChipSpec* of_this_thread = nullptr;
}

FewerCores::FewerCores(int cores) : before_(of_this_thread) {
    const ChipSpec& chip = chip_spec();
    if (cores >= chip.cores) return;
    spec_ = std::make_unique<ChipSpec>(chip);
    spec_->cores = std::max(cores, 1);
    of_this_thread = spec_.get();
}

FewerCores::~FewerCores() { of_this_thread = before_; }

const ChipSpec& chip_spec() {
    if (of_this_thread) return *of_this_thread;
    std::lock_guard lock(current_mutex);
    return specs().front();
}

void set_chip_spec(const ChipSpec& spec) {
    std::lock_guard lock(current_mutex);
    specs().push_front(spec);
}

}  // namespace ascend
