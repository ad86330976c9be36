// SPDX-License-Identifier: MIT
// Max-min fair sharing of two resources, recomputed at the beginning and end of each flow.
#include "chip/gm_flows.h"

#include <algorithm>

namespace ascend {

namespace {

// The largest level such that everybody taking min(wish, level) fits into `capacity`, which all wishes together exceed.
double fair_level(const std::vector<double>& wishes, double capacity) {
    double level = capacity / static_cast<double>(wishes.size());
    for (;;) {
        double satisfied = 0;
        size_t limited = 0;
        for (const double wish : wishes) {  // without branches, which nobody could predict
            satisfied += wish < level ? wish : 0.0;
            limited += wish < level ? 0 : 1;
        }
        // The level rises towards its fixed point: those below it leave more for the others.
        const double next = limited ? (capacity - satisfied) / static_cast<double>(limited) : level;
        if (next <= level * (1 + 1e-12)) return level;
        level = next;
    }
}

}  // namespace

GmFlows::GmFlows(const ChipSpec& spec, L2State& l2, uint32_t ports)
    : l2_rate_(spec.l2_bytes_per_cycle()),
      hbm_rate_(spec.hbm_bytes_per_cycle()),
      hbm_latency_(spec.hbm_latency_cycles),
      l2_(l2),
      ports_(ports) {}

void GmFlows::begin(double now, const GmRequest& request) {
    const L2State::Access access = l2_.access(request.gm, request.outer, request.is_write, request.l2_hint);
    constexpr double kSector = L2State::kSectorBytes;
    const double bytes = static_cast<double>(access.sectors) * kSector;
    const double missing = static_cast<double>(access.missing) * kSector;
    const PathSpec& path = *request.path;
    double cycles;
    if (request.is_write || path.window_bytes == 0) {
        cycles = bytes / path.bytes_per_cycle;
    } else {
        const double hit_rate = std::min(path.bytes_per_cycle, path.window_bytes / path.latency_cycles);
        const double miss_latency = path.latency_cycles + hbm_latency_;
        const double miss_rate = std::min(path.bytes_per_cycle, path.window_bytes / miss_latency);
        cycles = (bytes - missing) / hit_rate + missing / miss_rate;
    }
    cycles = std::max(cycles, request.least_cycles);

    Flow flow;
    flow.remaining = bytes;
    flow.settled_at = now;
    flow.own_rate = cycles > 0 ? bytes / cycles : 0;
    const uint64_t hbm_sectors = access.missing + access.writeback;
    flow.hbm_share = bytes > 0 ? static_cast<double>(hbm_sectors) * kSector / bytes : 0;
    flow.port = request.port;
    flow.owner = request.owner;
    flow.fill = access.fill;
    flow.from_hbm = !request.is_write && access.missing > 0;
    flow.pendings = static_cast<uint8_t>(request.is_write ? 0 : access.pendings);
    std::copy(access.pending, access.pending + flow.pendings, flow.pending);
    if (flow.own_rate == 0) {  // nothing to move
        flow.end = now;
        flow.rate = 1;
    }
    ports_[flow.port].rate = path.bytes_per_cycle;
    ports_[flow.port].wished += flow.own_rate;
    flows_.push_back(flow);

    l2_bytes += access.sectors * L2State::kSectorBytes;
    (request.is_write ? hbm_written_bytes : hbm_read_bytes) += access.missing * L2State::kSectorBytes;
    hbm_written_bytes += access.writeback * L2State::kSectorBytes;
    share(now);
}

// What a flow would take if L2 and HBM had room: its own rate, scaled down where its port is shared and full.
inline double GmFlows::wish(const Flow& flow) const {
    const Port& port = ports_[flow.port];
    constexpr double kRounding = 1 + 1e-9;  // `wished` is a running sum
    return port.wished <= port.rate * kRounding ? flow.own_rate : flow.own_rate * (port.rate / port.wished);
}

inline void GmFlows::set_rate(Flow& flow, double rate, double now) {
    if (rate == flow.rate) return;  // an unchanged flow keeps its exact end
    flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.settled_at));
    flow.settled_at = now;
    flow.rate = rate;
    flow.end = now + flow.remaining / rate;
}

void GmFlows::share(double now) {
    const size_t count = flows_.size();
    double wished = 0, wished_hbm = 0;
    rates_.resize(count);
    hbm_rates_.resize(count);
    for (size_t i = 0; i < count; ++i) {
        rates_[i] = wish(flows_[i]);
        hbm_rates_[i] = rates_[i] * flows_[i].hbm_share;
        wished += rates_[i];
        wished_hbm += hbm_rates_[i];
    }
    if (wished_hbm > hbm_rate_) {
        const double level = fair_level(hbm_rates_, hbm_rate_);
        wished = 0;
        for (size_t i = 0; i < count; ++i) {
            if (flows_[i].hbm_share > 0) rates_[i] = std::min(rates_[i], level / flows_[i].hbm_share);
            wished += rates_[i];
        }
    }
    if (wished > l2_rate_) {
        const double level = fair_level(rates_, l2_rate_);
        for (double& rate : rates_) rate = std::min(rate, level);
    }
    double next_end = kNever;
    for (size_t i = 0; i < count; ++i) {
        if (flows_[i].own_rate != 0) set_rate(flows_[i], rates_[i], now);
        next_end = std::min(next_end, flows_[i].end);
    }
    next_end_ = next_end;
}

bool GmFlows::still_waits(const Flow& flow) const {
    for (int i = 0; i < flow.pendings; ++i)
        if (l2_.is_pending(flow.pending[i])) return true;
    return false;
}

void GmFlows::leave(const Flow& flow, std::vector<Ended>& ended) {
    ended.push_back({flow.owner, flow.from_hbm});
    if (!flow.fill) return;
    l2_.end_fill(flow.fill);
    for (size_t i = 0; i < waiting_.size();) {
        if (still_waits(waiting_[i])) {
            ++i;
            continue;
        }
        Flow released = waiting_[i];
        waiting_[i] = waiting_.back();
        waiting_.pop_back();
        released.from_hbm = true;
        leave(released, ended);
        i = 0;
    }
}

void GmFlows::finish_next(std::vector<Ended>& ended) {
    const double now = next_end_;
    size_t at = 0;
    while (flows_[at].end != now) ++at;
    const Flow flow = flows_[at];
    flows_[at] = flows_.back();
    flows_.pop_back();
    Port& port = ports_[flow.port];
    port.wished -= flow.own_rate;
    if (port.wished < 1e-9) port.wished = 0;
    if (still_waits(flow)) waiting_.push_back(flow);
    else leave(flow, ended);
    share(now);
}

}  // namespace ascend
