// Small models and batches for the tests of models: every parameter has values that are nothing
// special, sentences have different lengths, one of them a single token.
#pragma once
#include <string>
#include <vector>

#include "rapt/base/random.h"
#include "rapt/models/transformer.h"
#include "rapt/testing/expect.h"

namespace rapt::testing {

inline constexpr size_t kSourceVocabulary = 11, kTargetVocabulary = 13;

inline ModelConfig tiny_config() {
  ModelConfig c;
  c.d_model = 12;
  c.heads = 2;
  c.d_ff = 10;
  c.encoder_layers = c.decoder_layers = 2;
  c.tie = Tie::kNone;
  c.output_bias = true;
  c.max_positions = 32;
  c.dropout_embedding = c.dropout_attention = c.dropout_activation = c.dropout_residual = 0;
  return c;
}

inline ModelConfig tiny_decoder_config() {
  ModelConfig c = tiny_config();
  c.architecture = Architecture::kDecoder;
  c.residual = Residual::kPre;
  c.positions = Positions::kLearned;
  c.scale_embedding = false;
  c.activation = kernels::Activation::kGeluTanh;
  c.tie = Tie::kDecoder;
  return c;
}

// Grouped queries, a window that hides some keys of the shards below, and a sink.
inline ModelConfig all_masks(ModelConfig c, Positions positions) {
  c.d_model = 16;
  c.heads = 4;
  c.kv_heads = 2;
  c.window = 3;
  c.attention_sink = true;
  c.positions = positions;
  return c;
}

inline Transformer tiny_model(const ModelConfig& config, uint64_t seed = 1) {
  const bool joint = config.tie == Tie::kAll;
  Transformer model(config,
                    !config.has_encoder() ? 0
                    : joint               ? kTargetVocabulary
                                          : kSourceVocabulary,
                    kTargetVocabulary, {.seed = seed});
  // Biases are 0 and gains 1 at first: special values, behind which mistakes could hide.
  for (const Parameter* p : model.parameters().stored()) {
    const uint64_t key = op_key(seed, Stream::kSample, site_of(p->name), 0);
    for (size_t n = 0; n < p->value.size(); ++n) {
      p->value.host()[n] += static_cast<float>(0.2 * normal(key, n));
    }
  }
  return model;
}

inline std::vector<int32_t> random_ids(size_t n, size_t vocabulary, uint32_t salt) {
  std::vector<int32_t> ids(n);
  for (size_t i = 0; i < n; ++i) {
    ids[i] = static_cast<int32_t>(uniform(salt, i) * static_cast<double>(vocabulary));
  }
  return ids;
}

// Sentences with these lengths; ids of tokens depend on the sentence's id alone.
inline Shard tiny_shard(const ModelConfig& config, const std::vector<Sequence>& sources,
                        const std::vector<Sequence>& targets) {
  Shard shard;
  const auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& ids) {
    to.insert(to.end(), ids.begin(), ids.end());
  };
  const size_t vocabulary = config.tie == Tie::kAll ? kTargetVocabulary : kSourceVocabulary;
  for (const Sequence& s : sources) {
    append(shard.source_ids, random_ids(s.size, vocabulary, static_cast<uint32_t>(s.id)));
  }
  for (const Sequence& s : targets) {
    const auto id = static_cast<uint32_t>(s.id);
    append(shard.target_in, random_ids(s.size, kTargetVocabulary, 1000 + id));
    append(shard.target_out, random_ids(s.size, kTargetVocabulary, 2000 + id));
  }
  shard.target = Lengths(targets);
  if (config.has_encoder()) {
    shard.source = Lengths(sources);
  } else {
    shard.source_ids.clear();
  }
  return shard;
}

inline Shard tiny_shard(const ModelConfig& config) {
  return tiny_shard(config, {{17, 5, 0}, {3, 1, 0}, {900, 7, 0}},
                    {{17, 4, 0}, {3, 6, 0}, {900, 1, 0}});
}

// The gradient of a parameter after Context::backward; zeros where nothing reached it.
inline Tensor gradient_of(const Context& ctx, const Parameter& p) {
  const Tensor gradient = ctx.gradient(p.value);
  return gradient.empty() ? Tensor::zeros(p.value.shape()) : gradient;
}

}  // namespace rapt::testing
