#include "apps/rapt/bench/profile.h"

#include <time.h>

#include <algorithm>
#include <vector>

namespace rapt::app::bench {

void Profile::watch(Context& ctx) {
  ctx.profile([this](const char* op, Context::Phase phase, std::span<const Tensor> values) {
    double bytes = 0;
    size_t width = 0;
    for (const Tensor& value : values) {
      if (value.empty()) continue;
      bytes += static_cast<double>(value.size() * sizeof(float));
      width = value.shape().rank() == 0 ? 0 : value.cols();
    }
    Entry& e = entry(op, width, phase == Context::Phase::kBackward);
    e.bytes += bytes;
    add_time(e);
  });
}

double Profile::now() const {
  timespec t{};
  clock_gettime(threads_ == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void Profile::add_time(Entry& e) {
  const double time = now();
  e.seconds += time - last_;
  ++e.calls;
  last_ = time;
}

void Profile::end_step(const std::string& rest) {
  add_time(entry(rest, 0, false));
  ++steps_;
}

// A product takes 2 rows in out operations, and its gradients twice that.
void Profile::add_linear(double rows, size_t in, size_t out) {
  const double flops = 2 * rows * static_cast<double>(in * out);
  entry("linear", out, false).flops += flops;
  entry("linear", out, true).flops += 2 * flops;
}

// Two products forward, five backward, over the pairs of a query and a key that it sees.
void Profile::add_attention(const Lengths& queries, const Lengths& keys, bool causal) {
  double pairs = 0;
  for (size_t s = 0; s < queries.sequences(); ++s) {
    pairs += static_cast<double>(queries[s].size) * keys[s].size / (causal ? 2 : 1);
  }
  const double flops = 2 * pairs * static_cast<double>(config_.d_model);
  entry("attention", config_.d_model, false).flops += 2 * flops;
  entry("attention", config_.d_model, true).flops += 5 * flops;
}

void Profile::begin_step(const Update& update) {
  const size_t d = config_.d_model, ff = config_.d_ff;
  for (const Shard& shard : update.shards) {
    const auto source = static_cast<double>(shard.source.rows());
    const auto target = static_cast<double>(shard.target.rows());
    const auto block = [&](double rows) {
      add_linear(rows, d, 3 * d);
      add_linear(rows, d, d);
      add_linear(rows, d, ff);
      add_linear(rows, ff, d);
    };
    for (size_t i = 0; i < config_.encoder_layers; ++i) {
      block(source);
      add_attention(shard.source, shard.source, false);
    }
    for (size_t i = 0; i < config_.decoder_layers; ++i) {
      block(target);
      add_linear(target, d, d);  // across: queries, then keys and values, then the result
      add_linear(source, d, 2 * d);
      add_linear(target, d, d);
      add_attention(shard.target, shard.target, true);
      add_attention(shard.target, shard.source, false);
    }
    // The loss computes its gradients at once.
    entry("linear_cross_entropy", 0, false).flops +=
        6 * target * static_cast<double>(d * vocabulary_);
  }
  begin_step();
}

void Profile::emit(const std::string& name, const Machine& machine) const {
  std::vector<const std::pair<const Key, Entry>*> order;
  double total = 0;
  for (const auto& e : entries_) {
    total += e.second.seconds;
    if (e.second.calls > 0) order.push_back(&e);
  }
  std::ranges::stable_sort(order, std::greater(), [](const auto* e) { return e->second.seconds; });
  const auto steps = static_cast<double>(std::max<size_t>(1, steps_));
  const auto line = [&](const std::string& op, const Entry& e) {
    Json json{{"peer", "rapt"},
              {"case", name},
              {"threads", threads_},
              {"op", op},
              {"percent", 100 * e.seconds / total},
              {"ms", 1e3 * e.seconds / steps},
              {"calls", static_cast<double>(e.calls) / steps},
              {"mb", e.bytes / 1e6 / steps}};
    if (e.flops > 0) {
      json["gflops"] = e.flops / e.seconds / 1e9;
      json["peak_percent"] = 100 * e.flops / e.seconds / 1e9 / machine.gflops();
    }
    bench::emit(std::move(json));
  };
  Entry all;
  for (const auto* e : order) {
    const auto& [op, width, backward] = e->first;
    line(op + (width > 0 ? concat(" ", width) : "") + (backward ? " backward" : ""), e->second);
    all.seconds += e->second.seconds;
    all.flops += e->second.flops;
    all.bytes += e->second.bytes;
    all.calls += e->second.calls;
  }
  line("all", all);
}

}  // namespace rapt::app::bench
