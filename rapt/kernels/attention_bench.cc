// Attention by length, mask and layout. FLOP are those of the products that are needed: two of
// n x m x d forward and five backward, half of that under a causal mask.
#include <benchmark/benchmark.h>

#include <cmath>
#include <optional>

#include "rapt/kernels/attention.h"
#include "rapt/kernels/attention_problem_ref.h"
#include "rapt/kernels/attention_ref.h"

namespace rapt::kernels {
namespace {

using testing::Case;
using testing::Problem;
using testing::Size;

constexpr AttentionBand kCausal{-AttentionBand::kOpen, 0};

// What is wrong with the last row of the last sequence, if anything.
std::optional<std::string> fault(const Problem& p) {
  const AttentionSequence& whole = p.sequences.back();
  AttentionSequence s = whole;
  const size_t row = whole.queries - 1;
  s.queries = 1;
  s.query_position += static_cast<uint32_t>(row);
  const auto numbers = [](const float* x, size_t n) { return std::vector<double>(x, x + n); };
  const auto q = numbers(whole.q + row * p.a.q.row, p.a.heads * p.a.dim);
  const size_t n = whole.keys - 1;
  const auto k = numbers(whole.k, n * p.a.k.row + p.a.kv_heads * p.a.dim);
  const auto v = numbers(whole.v, n * p.a.v.row + p.a.kv_heads * p.a.dim_v);
  std::vector<double> out(p.a.out.row);
  attention_ref<double>(p.a, s, q, k, v, {}, {}, out);
  for (size_t c = 0; c < out.size(); ++c) {
    if (!(std::abs(out[c] - whole.out[row * p.a.out.row + c]) <= 1e-5)) return "wrong result";
  }
  return std::nullopt;
}

double products(const Problem& p) {
  double pairs = 0;
  for (const AttentionSequence& s : p.sequences) pairs += double{1} * s.queries * s.keys;
  if (p.c.band.last == 0) pairs /= 2;
  return 2 * pairs * static_cast<double>(p.c.heads * p.c.dim);
}

void run(benchmark::State& state, const Case& c, bool backward, size_t threads = 1) {
  Problem p(c);
  Pool pool(threads);
  p.run(pool);
  if (const auto what = fault(p)) return state.SkipWithError(what->c_str());
  std::vector<uint32_t> plan(attention_plan_size(p.a, p.sequences));
  for (auto _ : state) {
    if (backward) {
      attention_backward(p.a, p.sequences, p.grads, plan, pool);
    } else {
      attention_forward(p.a, p.sequences, plan, pool);
    }
  }
  state.counters["FLOP/s"] = benchmark::Counter(products(p) * (backward ? 5 : 2),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

// 4096 tokens in sentences of `length`, q, k and v in one projection, d_model 512.
Case fused(uint32_t length, size_t dim = 64) {
  Case c{.name = "",
         .sizes = {},
         .heads = 512 / dim,
         .kv_heads = 512 / dim,
         .dim = dim,
         .dim_v = dim,
         .fused = true};
  c.sizes.assign(std::max<size_t>(1, 4096 / length), Size{length, length});
  return c;
}

void dense(benchmark::State& state) {
  const Case c = fused(static_cast<uint32_t>(state.range(0)), static_cast<size_t>(state.range(1)));
  run(state, c, state.range(2) != 0);
}
BENCHMARK(dense)
    ->ArgNames({"length", "dim", "backward"})
    ->ArgsProduct({{8, 16, 32, 64, 128, 512, 2048}, {64}, {0, 1}})
    ->ArgsProduct({{512}, {32, 40, 128}, {0, 1}});

void causal(benchmark::State& state) {
  Case c = fused(static_cast<uint32_t>(state.range(0)));
  c.band = kCausal;
  run(state, c, state.range(1) != 0);
}
BENCHMARK(causal)->ArgNames({"length", "backward"})->ArgsProduct({{64, 128, 512, 2048}, {0, 1}});

void dropout(benchmark::State& state) {
  Case c = fused(static_cast<uint32_t>(state.range(0)));
  c.drop = 6554;
  run(state, c, state.range(1) != 0);
}
BENCHMARK(dropout)->ArgNames({"length", "backward"})->ArgsProduct({{128, 512}, {0, 1}});

// 128 sentences of 5 to 60 tokens.
void ragged(benchmark::State& state) {
  Case c = fused(1);
  c.sizes.clear();
  for (uint32_t n = 0; n < 128; ++n) c.sizes.push_back({5 + n * 37 % 56, 5 + n * 37 % 56});
  run(state, c, state.range(0) != 0, static_cast<size_t>(state.range(1)));
}
BENCHMARK(ragged)->ArgNames({"backward", "threads"})->ArgsProduct({{0, 1}, {1, 2}})->UseRealTime();

// What a step of training has: 257 pairs of 8 to 22 tokens, fused or against the keys of the source.
void training(benchmark::State& state) {
  Case c = fused(1, static_cast<size_t>(state.range(0)));
  c.heads = c.kv_heads = static_cast<size_t>(state.range(1));
  c.sizes.clear();
  const bool cross = state.range(2) == 2;
  for (uint32_t n = 0; n < 257; ++n) {
    const uint32_t queries = 8 + n * 37 % 15, keys = 7 + n * 43 % 15;
    c.sizes.push_back({queries, cross ? keys : queries});
  }
  c.fused = !cross;
  if (state.range(2) == 1) c.band = kCausal;
  c.drop = state.range(3) != 0 ? 19661 : 0;
  run(state, c, state.range(4) != 0);
}
BENCHMARK(training)
    ->ArgNames({"dim", "heads", "mask", "dropout", "backward"})
    ->ArgsProduct({{32}, {4}, {0, 1, 2}, {0, 1}, {0, 1}})
    ->ArgsProduct({{64}, {8}, {0}, {0, 1}, {0, 1}});

// One new row in each of many sequences, against a cache of `keys` rows; bytes of K and V.
void decode(benchmark::State& state) {
  Case c = fused(1);
  c.fused = false;
  c.slots = state.range(2) != 0;
  const auto keys = static_cast<uint32_t>(state.range(1));
  c.sizes.assign(static_cast<size_t>(state.range(0)), Size{1, keys, keys - 1});
  run(state, c, false);
  state.SetBytesProcessed(state.iterations() * state.range(0) * keys * 2 * 512 *
                          static_cast<int64_t>(sizeof(float)));
}
BENCHMARK(decode)
    ->ArgNames({"sequences", "keys", "slots"})
    ->ArgsProduct({{1, 32}, {25, 128, 512}, {0}})
    ->Args({32, 128, 1});

}  // namespace
}  // namespace rapt::kernels
