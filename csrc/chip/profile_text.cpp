// SPDX-License-Identifier: MIT
// How a launch is written down: as a line of JSON, and as events of a timeline.
#include "chip/profile_text.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "chip/core.h"
#include "chip/fault.h"

namespace ascend {
namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20) out += format("\\u%04x", c);
        else out += c;
    }
    return out + '"';
}

std::string number(double value) { return std::isfinite(value) ? format("%.17g", value) : "null"; }

std::string pipes_json(const PipeTotals* totals) {
    std::string out = "{";
    for (int pipe = 0; pipe < kPipes; ++pipe) {
        if (!totals[pipe].instructions && !totals[pipe].busy_cycles && !totals[pipe].wait_cycles) continue;
        out += format("%s\"%s\":{\"busy_cycles\":%s,\"wait_cycles\":%s,\"instructions\":%llu}", out.size() > 1 ? "," : "",
                      pipe_name(static_cast<Pipe>(pipe)), number(totals[pipe].busy_cycles).c_str(),
                      number(totals[pipe].wait_cycles).c_str(),
                      static_cast<unsigned long long>(totals[pipe].instructions));
    }
    return out + "}";
}

constexpr int kProcessesPerDevice = 1000;

std::string process_name(int process, const std::string& name) {
    return format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":%s}}", process, quoted(name).c_str());
}

std::string process_order(int process) {
    return format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}", process, process);
}

std::string thread_name(int process, int64_t thread, const std::string& name) {
    return format("{\"ph\":\"M\",\"pid\":%d,\"tid\":%lld,\"name\":\"thread_name\",\"args\":{\"name\":%s}}", process,
                  static_cast<long long>(thread), quoted(name).c_str());
}

std::string span(int process, int64_t thread, const std::string& name, double start_us, double us, const std::string& args) {
    return format("{\"ph\":\"X\",\"pid\":%d,\"tid\":%lld,\"name\":%s,\"ts\":%.4f,\"dur\":%.4f,\"args\":{%s}}", process,
                  static_cast<long long>(thread), quoted(name).c_str(), start_us, us, args.c_str());
}

}  // namespace

std::string launch_json(const LaunchProfile& l) {
    std::string out = "{";
    const auto text = [&](const char* name, const std::string& value) {
        ((((out += out.size() > 1 ? ",\"" : "\"") += name) += "\":") += value);
    };
    const auto count = [&](const char* name, uint64_t value) {
        if (value) text(name, std::to_string(value));
    };
    const auto real = [&](const char* name, double value) {
        if (value != 0) text(name, number(value));
    };
    const auto pipes = [&](const char* name, const PipeTotals* totals) {
        const std::string json = pipes_json(totals);
        if (json.size() > 2) text(name, json);
    };
    text("name", quoted(l.name));
    if (!l.detail.empty()) text("detail", quoted(l.detail));
    text("chip", quoted(l.chip));
    count("device", static_cast<uint64_t>(l.device));
    if (l.stream) text("stream", std::to_string(l.stream));
    count("blocks", static_cast<uint64_t>(l.blocks));
    count("aics", static_cast<uint64_t>(l.aics));
    count("aivs", static_cast<uint64_t>(l.aivs));
    text("is_estimate", l.is_estimate ? "true" : "false");
    text("is_timed", l.is_timed ? "true" : "false");
    real("start_us", l.start_us);
    real("simulated_us", l.simulated_us);
    real("launch_us", l.launch_us);
    real("host_us", l.host_us);
    real("total_cycles", l.total_cycles);
    pipes("aic", l.aic);
    pipes("aiv", l.aiv);
    count("gm_read_bytes", l.gm_read_bytes);
    count("gm_written_bytes", l.gm_written_bytes);
    count("l2_bytes", l.l2_bytes);
    count("hbm_read_bytes", l.hbm_read_bytes);
    count("hbm_written_bytes", l.hbm_written_bytes);
    real("macs", l.macs);
    real("flops", l.flops);
    count("records", l.records);
    text("has_timeline", l.has_timeline ? "true" : "false");
    return out + "}";
}

void TimelineText::add(const LaunchProfile& l, const std::function<void(const std::string&)>& event) {
    const int device_process = l.device * kProcessesPerDevice;
    if (processes_.insert(device_process).second) {
        event(process_name(device_process, format("npu:%d kernels", l.device)));
        event(process_order(device_process));
    }
    if (streams_.insert({l.device, l.stream}).second)
        event(thread_name(device_process, l.stream, format("stream %lld", static_cast<long long>(l.stream))));
    event(span(device_process, l.stream, l.name, l.start_us, l.simulated_us,
               format("\"estimate\":%s,\"blocks\":%d,\"host_us\":%.1f", l.is_estimate ? "true" : "false", l.blocks, l.host_us)));
    for (const TimelineEntry& entry : l.timeline) {
        const int process = device_process + 1 + entry.ai_core * 3 + static_cast<int>(entry.core);
        if (processes_.insert(process).second) {
            event(process_name(process, format("npu:%d core %d %s", l.device, entry.ai_core, core_kind_name(entry.core))));
            event(process_order(process));
            for (int pipe = 0; pipe < kPipes; ++pipe)
                event(thread_name(process, pipe, pipe_name(static_cast<Pipe>(pipe))));
        }
        const int thread = entry.pipe == Pipe::all ? 0 : static_cast<int>(entry.pipe);
        event(span(process, thread, op_info(entry.op).name, l.start_us + entry.start_us, entry.end_us - entry.start_us,
                   format("\"path\":\"%s\",\"amount\":%u", path_name(entry.path), entry.amount)));
    }
}

void write_chrome_trace(const std::vector<LaunchProfile>& launches, const std::string& path) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
    if (!file) throw std::runtime_error("cannot write " + path);
    std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file.get());
    TimelineText text;
    const char* separator = "\n";
    for (const LaunchProfile& launch : launches)
        text.add(launch, [&](const std::string& event) {
            std::fputs(separator, file.get());
            std::fwrite(event.data(), 1, event.size(), file.get());
            separator = ",\n";
        });
    std::fputs("\n]}\n", file.get());
    if (std::ferror(file.get()) || std::fflush(file.get())) throw std::runtime_error("cannot write " + path);
}

}  // namespace ascend
