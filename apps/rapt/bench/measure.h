// Timing that a noisy machine disturbs least, and what is printed of it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rapt/io/json.h"
#include "rapt/parallel/pool.h"

namespace rapt::app::bench {

// Time on the wall and time of the processor, of all threads of this process.
struct Sample {
  double ms = 0, cpu_ms = 0;
};
class Stopwatch {
 public:
  Stopwatch() : start_(now()) {}
  Sample sample() const {
    const Sample end = now();
    return {end.ms - start_.ms, end.cpu_ms - start_.cpu_ms};
  }
  double seconds() const { return sample().ms / 1e3; }

 private:
  static Sample now();
  Sample start_;
};

struct Case {
  std::string name;
  std::function<void()> run;
  Json shape = Json::object();
  double flops = 0;  // 0: not told
  Json more = Json::object();
};

struct Timing {
  double ms = 0, ms_median = 0;  // best, median
  double cpu_ms = 0;             // best
  size_t runs = 0;
};
Timing timing_of(const std::vector<Sample>& samples);

// Times every case once a round: a neighbour on the machine or a change of its clock meets all of
// them alike. A sample repeats a short case until it takes 20 ms.
std::vector<Timing> interleave(const std::vector<Case>& cases, size_t rounds);

// The machine's multiply-add peak and copy bandwidth, sampled now and again through a run; the best
// of the samples counts.
class Machine {
 public:
  explicit Machine(Pool& pool) : pool_(pool) { sample(); }
  void sample();
  double gflops() const { return gflops_; }
  void emit();  // a last sample, and the line of peer "machine"

 private:
  Pool& pool_;
  double gflops_ = 0, gb_per_s_ = 0;
};

// peer, case, threads, dtype, shape, timing, with one thread cpu_ms too, which neighbours on the
// machine change less; gflops and peak_percent if the case tells its flops.
Json line_of(const Case& c, const Timing& timing, size_t threads, const Machine& machine);
void put(Json& line, const Timing& timing, size_t threads);
// One line of JSON; floats keep four significant digits.
void emit(Json line);
// Interleaves and prints all of them.
void run_cases(const std::vector<Case>& cases, size_t rounds, size_t threads, Machine& machine);

double rss_mb();
double peak_rss_mb();     // of the process since its start, or since forget_peak_rss()
void forget_peak_rss();   // so that making the data does not count
std::string cpu_model();  // as /proc/cpuinfo has it

}  // namespace rapt::app::bench
