#include "apps/rapt/bench/measure.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "apps/rapt/output.h"
#include "rapt/kernels/peak.h"
#include "rapt/kernels/simd_target.h"

namespace rapt::app::bench {
namespace {

constexpr double kSampleSeconds = 0.02;

double shorten(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return std::strtod(text, nullptr);
}

void shorten_floats(Json& value) {
  if (value.is_number_float()) value = shorten(value.get<double>());
  if (value.is_structured()) {
    for (Json& member : value) shorten_floats(member);
  }
}

// "VmHWM:    1234 kB" of /proc/self/status, in MB; 0 where there is no such file.
double status_mb(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::strtod(line.c_str() + key.size() + 1, nullptr) / 1024;
  }
  return 0;
}

}  // namespace

Sample Stopwatch::now() {
  const auto read = [](clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
  };
  return {read(CLOCK_MONOTONIC), read(CLOCK_PROCESS_CPUTIME_ID)};
}

Timing timing_of(const std::vector<Sample>& samples) {
  std::vector<double> ms, cpu_ms;
  for (const Sample& s : samples) {
    ms.push_back(s.ms);
    cpu_ms.push_back(s.cpu_ms);
  }
  std::ranges::sort(ms);
  const size_t n = ms.size();
  return {ms.front(), (ms[(n - 1) / 2] + ms[n / 2]) / 2, std::ranges::min(cpu_ms), n};
}

std::vector<Timing> interleave(const std::vector<Case>& cases, size_t rounds) {
  std::vector<size_t> repeats;
  for (const Case& c : cases) {
    c.run();
    const Stopwatch watch;
    c.run();
    repeats.push_back(
        std::max<size_t>(1, static_cast<size_t>(std::ceil(kSampleSeconds / watch.seconds()))));
  }
  std::vector<std::vector<Sample>> samples(cases.size());
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const Stopwatch watch;
      for (size_t n = 0; n < repeats[i]; ++n) cases[i].run();
      const Sample all = watch.sample();
      const auto count = static_cast<double>(repeats[i]);
      samples[i].push_back({all.ms / count, all.cpu_ms / count});
    }
  }
  std::vector<Timing> timings;
  for (const std::vector<Sample>& of_case : samples) timings.push_back(timing_of(of_case));
  return timings;
}

void Machine::sample() {
  constexpr size_t kRounds = 200'000, kSamples = 5;
  constexpr size_t kCopied = size_t{16} << 20;  // floats a thread: beyond the caches
  const size_t threads = pool_.threads();
  const std::vector<float> from(kCopied * threads, 1.0f);
  std::vector<float> to(from.size(), 2.0f);  // not kept: the memory of cases is measured too
  for (size_t i = 0; i < kSamples; ++i) {
    std::vector<double> operations(threads);
    const Stopwatch multiplying;
    pool_.run(threads, [&](size_t t) { operations[t] = kernels::multiply_adds(kRounds); });
    const double seconds = multiplying.seconds();
    double all = 0;
    for (const double n : operations) all += n;
    gflops_ = std::max(gflops_, all / seconds / 1e9);

    const Stopwatch copying;
    pool_.run(threads, [&](size_t t) {
      kernels::copy(std::span(from).subspan(t * kCopied, kCopied),
                    std::span(to).subspan(t * kCopied, kCopied));
    });
    const double bytes = 2.0 * sizeof(float) * static_cast<double>(from.size());
    gb_per_s_ = std::max(gb_per_s_, bytes / copying.seconds() / 1e9);
  }
}

void Machine::emit() {
  sample();
  bench::emit({{"peer", "machine"},
               {"case", "peak"},
               {"threads", pool_.threads()},
               {"simd", kernels::simd_target()},
               {"gflops", gflops_},
               {"gb_per_s", gb_per_s_},
               {"cpu", cpu_model()}});
}

void put(Json& line, const Timing& timing, size_t threads) {
  line["ms"] = timing.ms;
  line["ms_median"] = timing.ms_median;
  if (threads == 1) line["cpu_ms"] = timing.cpu_ms;
  line["runs"] = timing.runs;
}

Json line_of(const Case& c, const Timing& timing, size_t threads, const Machine& machine) {
  Json line{{"peer", "rapt"},
            {"case", c.name},
            {"threads", threads},
            {"dtype", "float32"},
            {"shape", c.shape}};
  put(line, timing, threads);
  if (c.flops > 0) {
    const double gflops = c.flops / timing.ms / 1e6;
    line["gflops"] = gflops;
    line["peak_percent"] = 100 * gflops / machine.gflops();
  }
  line.update(c.more);
  return line;
}

void emit(Json line) {
  shorten_floats(line);
  print_json(line);
  flush();
}

void run_cases(const std::vector<Case>& cases, size_t rounds, size_t threads, Machine& machine) {
  const std::vector<Timing> timings = interleave(cases, rounds);
  machine.sample();
  for (size_t i = 0; i < cases.size(); ++i) {
    emit(line_of(cases[i], timings[i], threads, machine));
  }
}

double rss_mb() { return status_mb("VmRSS:"); }
double peak_rss_mb() { return status_mb("VmHWM:"); }
void forget_peak_rss() { std::ofstream("/proc/self/clear_refs") << 5; }

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace rapt::app::bench
