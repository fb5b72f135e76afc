// Timing that a noisy machine disturbs least, and what is printed of it.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "rapt/io/json.h"
#include "rapt/parallel/pool.h"

namespace rapt::app::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
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
  size_t runs = 0;
};
Timing timing_of(std::vector<double> ms);

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

// peer, case, threads, dtype, shape, timing; gflops and peak_percent if the case tells its flops.
Json line_of(const Case& c, const Timing& timing, size_t threads, const Machine& machine);
void put(Json& line, const Timing& timing);
// One line of JSON; floats keep four significant digits.
void emit(Json line);
// Interleaves and prints all of them.
void run_cases(const std::vector<Case>& cases, size_t rounds, size_t threads, Machine& machine);

double rss_mb();
double peak_rss_mb();     // of the process since its start, or since forget_peak_rss()
void forget_peak_rss();   // so that making the data does not count
std::string cpu_model();  // as /proc/cpuinfo has it

}  // namespace rapt::app::bench
