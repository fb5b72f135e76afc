// Where the time of a step goes: by operation and width of its result, forward and backward, with
// the share of the multiply-add peak of those that are products, and the bytes of what they gave.
#pragma once
#include <map>
#include <string>
#include <tuple>

#include "apps/rapt/bench/measure.h"
#include "rapt/autograd/context.h"
#include "rapt/models/config.h"
#include "rapt/text/batches.h"

namespace rapt::app::bench {

class Profile {
 public:
  // One thread is timed by the processor time that it got, which neighbours on the machine change
  // less; several by the clock on the wall.
  Profile(const ModelConfig& config, size_t vocabulary, size_t threads)
      : config_(config), vocabulary_(vocabulary), threads_(threads) {}

  void watch(Context& ctx);
  static void unwatch(Context& ctx) { ctx.profile(nullptr); }

  void begin_step() { last_ = now(); }
  void begin_step(const Update& update);  // a training step: counts its useful operations
  // What came after the last operation is called `rest`.
  void end_step(const std::string& rest);

  // One line an entry, the longest first.
  void emit(const std::string& name, const Machine& machine) const;

 private:
  struct Entry {
    double seconds = 0, flops = 0, bytes = 0;
    size_t calls = 0;
  };
  // Operation, width of its result (0: any), backward.
  using Key = std::tuple<std::string, size_t, bool>;

  Entry& entry(const std::string& op, size_t width, bool backward) {
    return entries_[Key(op, width, backward)];
  }
  double now() const;  // seconds
  void add_time(Entry& e);
  void add_linear(double rows, size_t in, size_t out);
  void add_attention(const Lengths& queries, const Lengths& keys, bool causal);

  ModelConfig config_;
  size_t vocabulary_, threads_;
  std::map<Key, Entry> entries_;
  double last_ = 0;
  size_t steps_ = 0;
};

}  // namespace rapt::app::bench
