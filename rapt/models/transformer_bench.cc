// Whole models: tokens a second in training and in decoding, for the sizes of the recipes.
#include <benchmark/benchmark.h>

#include "rapt/models/transformer.h"

namespace rapt {
namespace {

ModelConfig config_of(int64_t d_model, int64_t layers, Residual residual) {
  ModelConfig c;
  c.d_model = static_cast<size_t>(d_model);
  c.heads = c.d_model / (c.d_model < 256 ? 32 : 64);
  c.d_ff = 4 * c.d_model;
  c.encoder_layers = c.decoder_layers = static_cast<size_t>(layers);
  c.residual = residual;
  return c;
}

// `rows` tokens on each side, in sentences of `length`.
Shard shard_of(size_t rows, size_t length, size_t vocabulary) {
  Shard shard;
  const auto size = static_cast<uint32_t>(length);
  shard.source = shard.target = Lengths::of(std::vector<uint32_t>(rows / length, size));
  shard.source_ids.resize(shard.source.rows());
  for (size_t i = 0; i < shard.source_ids.size(); ++i) {
    shard.source_ids[i] = static_cast<int32_t>(i * 7919 % vocabulary);
  }
  shard.target_in = shard.target_out = shard.source_ids;
  return shard;
}

void train(benchmark::State& state) {
  const auto residual = state.range(2) == 0 ? Residual::kPost : Residual::kPre;
  const auto vocabulary = static_cast<size_t>(state.range(3));
  const Transformer model(config_of(state.range(0), state.range(1), residual), vocabulary,
                          vocabulary);
  const Shard shard = shard_of(2000, static_cast<size_t>(state.range(4)), vocabulary);
  Pool pool(static_cast<size_t>(state.range(5)));
  Context ctx(Mode::kTraining, pool);
  uint64_t update = 0;
  for (auto _ : state) {
    ctx.clear(update++);
    ctx.backward(model.loss(ctx, shard, {.smoothing = 0.1f}).objective);
  }
  state.counters["tokens/s"] = benchmark::Counter(
      static_cast<double>(shard.target.rows() * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(train)
    ->ArgNames({"d_model", "layers", "pre", "vocabulary", "length", "threads"})
    ->Args({128, 3, 1, 64, 8, 1})  // spelling to pronunciation
    ->Args({128, 4, 0, 8000, 16, 1})
    ->Args({256, 3, 0, 8000, 16, 1})
    ->Args({256, 3, 1, 8000, 16, 1})
    ->Args({256, 3, 0, 8000, 16, 2})
    ->Args({512, 6, 0, 8000, 25, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Arguments: d_model, layers, hypotheses at once, threads. Each step feeds one token to each.
void decode(benchmark::State& state) {
  constexpr size_t kVocabulary = 8000;
  constexpr uint32_t kLength = 32;
  Transformer model(config_of(state.range(0), state.range(1), Residual::kPost), kVocabulary,
                    kVocabulary);
  model.pack();
  const auto hypotheses = static_cast<size_t>(state.range(2));
  const Shard shard = shard_of(hypotheses * kLength, kLength, kVocabulary);
  Pool pool(static_cast<size_t>(state.range(3)));
  Context ctx(Mode::kInference, pool);
  const std::vector<int32_t> ids(hypotheses, 5);
  for (auto _ : state) {
    State cache = model.make_state(hypotheses, kLength);
    model.open(ctx, cache, shard.source, shard.source_ids);
    for (uint32_t t = 0; t < kLength; ++t) {
      std::vector<Sequence> rows;
      for (size_t i = 0; i < hypotheses; ++i) rows.push_back({i, 1, t});
      benchmark::DoNotOptimize(model.step(ctx, cache, Lengths(std::move(rows)), ids).data());
    }
  }
  state.counters["tokens/s"] = benchmark::Counter(
      static_cast<double>(hypotheses * kLength * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(decode)
    ->ArgNames({"d_model", "layers", "hypotheses", "threads"})
    ->Args({256, 3, 1, 1})
    ->Args({256, 3, 8, 1})
    ->Args({256, 3, 64, 1})
    ->Args({512, 6, 5, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace rapt
