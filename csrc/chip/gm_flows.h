// SPDX-License-Identifier: MIT
// How fast does each transfer between a core and global memory go, while others want the same L2 and HBM?
#pragma once

#include <limits>
#include <vector>

#include "chip/l2.h"
#include "chip/spec.h"

namespace ascend {

struct GmRequest {
    GmFootprint gm;
    uint32_t outer = 1;
    bool is_write = false;
    uint8_t l2_hint = 0;
    uint32_t port = 0;             // requests of one port share its rate: the two vector cores of an AI core
    const PathSpec* path = nullptr;
    double least_cycles = 0;       // what else bounds it, e.g. elements per cycle of FIX
    uint32_t owner = 0;            // handed back when it ends
};

// Transfers as flows. Alone, a flow takes what its path allows: the port's rate, and for reads the bytes that
// may be under way divided by the time until they are back, which is longer for what L2 has to fetch.
// Together, flows share the bandwidth of L2 and of HBM max-min fair: nobody gets less than an equal share
// unless it wants less. Rates change when a flow begins or ends.
class GmFlows {
public:
    struct Ended {
        uint32_t owner;
        bool from_hbm;             // it waited for data of HBM, its own or another core's
    };

    GmFlows(const ChipSpec& spec, L2State& l2, uint32_t ports);

    void begin(double now, const GmRequest& request);
    double next_end() const { return next_end_; }
    // Ends the flow that ends next, and those that only waited for its data.
    void finish_next(std::vector<Ended>& ended);

    uint64_t l2_bytes = 0, hbm_read_bytes = 0, hbm_written_bytes = 0;

private:
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    struct Flow {
        double end = kNever, rate = 0;
        double remaining = 0, settled_at = 0;
        double own_rate = 0;       // bytes per cycle, if alone
        double hbm_share = 0;      // bytes of HBM traffic per byte
        uint32_t port = 0, owner = 0, fill = 0;
        bool from_hbm = false;
        uint8_t pendings = 0;
        uint32_t pending[L2State::kMaxFills];
    };

    void share(double now);
    void set_rate(Flow& flow, double rate, double now);
    double wish(const Flow& flow) const;
    bool still_waits(const Flow& flow) const;
    void leave(const Flow& flow, std::vector<Ended>& ended);

    const double l2_rate_, hbm_rate_, hbm_latency_;
    L2State& l2_;
    std::vector<Flow> flows_;
    std::vector<Flow> waiting_;            // transferred; the data of another core's miss is not here yet
    struct Port {
        double rate = 0, wished = 0;
    };
    std::vector<Port> ports_;
    double next_end_ = kNever;
    std::vector<double> rates_, hbm_rates_;  // of share()
};

}  // namespace ascend
