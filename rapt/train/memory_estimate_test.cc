#include "rapt/train/memory_estimate.h"

#include <gtest/gtest.h>

#include "rapt/train/stepper.h"

namespace rapt {
namespace {

struct Sizes {
  size_t sentences, source, target;
};

Shard shard_of(const Sizes& sizes, bool has_encoder) {
  Shard shard;
  const auto fill = [](std::vector<int32_t>& ids, size_t n) {
    for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(4 + i * 7 % 90));
  };
  const auto lengths = [&](size_t n) {
    return Lengths::of(std::vector<uint32_t>(sizes.sentences, static_cast<uint32_t>(n)));
  };
  if (has_encoder) {
    shard.source = lengths(sizes.source);
    fill(shard.source_ids, sizes.sentences * sizes.source);
  }
  shard.target = lengths(sizes.target);
  fill(shard.target_in, sizes.sentences * sizes.target);
  fill(shard.target_out, sizes.sentences * sizes.target);
  return shard;
}

// The estimate, as a multiple of the measured peak.
double ratio(const ModelConfig& config, const TrainOptions& options, const Sizes& sizes,
             size_t vocabulary) {
  MemoryPool memory;
  Pool pool(1);
  Transformer model(config, config.has_encoder() ? vocabulary : 0, vocabulary, {});
  Stepper stepper(model, options, pool, memory);
  const size_t shards = options.shards * options.accumulate;
  Update update;
  update.shards.assign(shards, shard_of(sizes, config.has_encoder()));
  update.target_tokens = shards * sizes.sentences * sizes.target;
  for (uint64_t step = 1; step <= 2; ++step) stepper.run(update, step, step, 1e-3);
  const size_t weights = 4 * model.parameters().elements();
  const ShardSize shard{
      config.has_encoder() ? static_cast<double>(sizes.sentences * sizes.source) : 0,
      static_cast<double>(sizes.sentences * sizes.target)};
  return static_cast<double>(estimate_memory(model, options, shard)) /
         static_cast<double>(memory.stats().peak_bytes_in_use + weights);
}

void expect_close(const char* what, const ModelConfig& config, const TrainOptions& options,
                  const Sizes& sizes, size_t vocabulary = 100) {
  const double found = ratio(config, options, sizes, vocabulary);
  EXPECT_GT(found, 0.8) << what;
  EXPECT_LT(found, 1.2) << what;
}

TEST(MemoryEstimate, LiesNearTheMeasuredPeak) {
  ModelConfig config;
  config.d_model = 64;
  config.d_ff = 256;
  TrainOptions options;
  const Sizes sizes{60, 20, 20};
  expect_close("base", config, options, sizes);
  expect_close("long source", config, options, {60, 40, 20});
  expect_close("long target", config, options, {60, 10, 40});
  expect_close("long sentences", config, options, {6, 200, 200});
  expect_close("one sentence", config, options, {1, 20, 20});
  ModelConfig other = config;
  for (const auto& [residual, name] : kNames<Residual>) {
    other = config;
    other.residual = residual;
    expect_close(std::string(name).c_str(), other, options, sizes);
  }
  for (const auto& [norm, name] : kNames<NormKind>) {
    other = config;
    other.norm = norm;
    expect_close(std::string(name).c_str(), other, options, sizes);
  }
  other = config;
  other.activation = kernels::Activation::kGelu;
  expect_close("gelu", other, options, sizes);
  other = config;
  other.gated = true;
  expect_close("gated", other, options, sizes);
  other = config;
  other.experts = 4;
  expect_close("experts", other, options, sizes);
  other = config;
  other.encoder_layers = 6;
  expect_close("encoder 6", other, options, sizes);
  other = config;
  other.decoder_layers = 6;
  expect_close("decoder 6", other, options, sizes);
  other = config;
  other.encoder_layers = other.decoder_layers = 1;
  expect_close("one layer", other, options, sizes);
  other = config;
  other.d_ff = 1024;
  expect_close("wide", other, options, sizes);
  other = config;
  other.heads = 16;
  expect_close("heads", other, options, sizes);
  other.d_k = 24;
  other.d_v = 16;
  expect_close("wide heads", other, options, sizes);
  other.kv_heads = 2;
  other.positions = Positions::kRotary;
  other.attention_sink = true;
  expect_close("few key heads, rotary", other, options, sizes);
  other.score = ScoreKind::kCosine;
  expect_close("cosine", other, options, sizes);
  other.score = ScoreKind::kBilinear;
  expect_close("bilinear", other, options, sizes);
  other = config;
  other.architecture = Architecture::kDecoder;
  expect_close("decoder-only", other, options, sizes);
  other = config;
  other.dropout_embedding = other.dropout_attention = other.dropout_activation =
      other.dropout_residual = 0;
  expect_close("no dropout", other, options, sizes);
  TrainOptions o = options;
  o.shards = 4;
  expect_close("shards 4", config, o, sizes);
  expect_close("vocabulary", config, options, {6, 20, 20}, 8000);
  o = options;
  o.ema_decay = 0.9;
  expect_close("ema", config, o, {1, 10, 10});
}

}  // namespace
}  // namespace rapt
