// SPDX-License-Identifier: MIT
// What are the figures of the emulated chip? The C++ side of one file of ascend_sim/chips; every value has
// its unit in its name here and its source there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chip/trace.h"

namespace ascend {

constexpr int kPaths = static_cast<int>(Path::simt) + 1;
constexpr int kElementTypes = static_cast<int>(ElementType::s32) + 1;
const char* path_name(Path);

// One way for data to move. Occupancy of the pipe: issue + max(amount / rate, ...), at least `interval`; what
// an instruction did is visible `latency` after its occupancy ends.
struct PathSpec {
    double bytes_per_cycle = 0;
    double latency_cycles = 0;
    double issue_cycles = 0;       // front end, on the pipe
    double interval_cycles = 0;    // between the beginnings of two instructions
    double window_bytes = 0;       // reads of global memory: bytes requested and not yet returned; 0: no limit
    double requests = 0;           // instructions begun and not yet complete; 0: no limit
};

struct VfClassSpec {
    double issue_cycles = 0;       // of the ports for calculations, which start two dual-issue instructions a cycle
    double write_cycles = 0;       // of the register file, which takes two results a cycle
    double memory_cycles = 0;      // of the UB ports: two reads, or a read and a write, a cycle
    double unit_cycles = 0;        // of the class's own unit
};

struct ChipSpec {
    std::string name;
    int cores = 0;
    double clock_hz = 0;

    double hbm_capacity_bytes = 0, hbm_bytes_per_s = 0, hbm_latency_cycles = 0;
    double l2_capacity_bytes = 0, l2_bytes_per_s = 0;

    // Device duration of an empty kernel by number of blocks; linear in between.
    static constexpr int kLaunchPoints = 5;
    static constexpr int launch_blocks[kLaunchPoints] = {1, 32, 64, 128, 1024};
    double launch_us[kLaunchPoints] = {};

    double scalar_issue_cycles = 0;
    double queue_depth[kPipes] = {};
    double flag_cycles = 0, cross_flag_cycles = 0, grid_barrier_cycles = 0;

    double cube_macs_per_cycle[kElementTypes] = {};
    double cube_latency_cycles = 0;
    double cube_mx_min_extent = 0;         // rows or columns that an MX MMAD is charged for at least

    double fix_elements_per_cycle = 0;
    double fix_c0_strided_factor = 0;      // cycles of an NZ2DN that skips rows of L0C, over those of one that does not

    double vf_start_cycles = 0, vf_drain_cycles = 0;
    VfClassSpec vf_class[kVfClasses];

    // SIMT functions. Per warp, on one of the schedulers; a warp whose operations were not counted costs simt_warp_cycles.
    double simt_schedulers = 0, simt_warp_cycles = 0, simt_operation_cycles = 0, simt_exchange_cycles = 0;
    double simt_barrier_cycles = 0;
    double simt_ub_atomic_cycles = 0, simt_gm_atomic_cycles = 0, simt_gm_atomic_again_cycles = 0;  // per thread
    double simt_gm_bytes_per_cycle = 0, simt_gm_latency_cycles = 0;

    PathSpec path[kPaths];

    double launch_overhead_us(int blocks) const;
    double l2_bytes_per_cycle() const { return l2_bytes_per_s / clock_hz; }
    double hbm_bytes_per_cycle() const { return hbm_bytes_per_s / clock_hz; }
    const PathSpec& of(Path which) const { return path[static_cast<int>(which)]; }

    // Names are those of the chip file, e.g. "path.gm_to_l1.rate". set() throws std::invalid_argument for an
    // unknown one.
    void set(const std::string& name, double value);
    double get(const std::string& name) const;
    static std::vector<std::string> names();
};

// Complete or an exception: every unknown and every missing name is listed in one std::invalid_argument.
ChipSpec make_chip_spec(const std::string& name, const std::map<std::string, double>& values);

// 950DT_9581, built in; equal to ascend_sim/chips/950DT_9581.toml, of which it is generated.
ChipSpec default_chip_spec();

// The chip of this process. Set before the first launch; a launch that runs meanwhile keeps the one it
// started with.
const ChipSpec& chip_spec();
void set_chip_spec(const ChipSpec&);

}  // namespace ascend
