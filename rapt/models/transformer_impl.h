// The modules of a Transformer, and what they share.
#pragma once
#include <optional>
#include <set>

#include "rapt/models/transformer.h"
#include "rapt/nn/embedding.h"
#include "rapt/nn/output.h"
#include "rapt/nn/stack.h"

namespace rapt {

class Transformer::Impl {
 public:
  Impl(const ModelConfig& c, size_t sources, size_t targets, const Initializer& initializer);

  Var encode(Context& ctx, std::span<const int32_t> ids, const Lengths& sources) const {
    return (*encoder)(ctx, (*source_embedding)(ctx, ids, sources), sources, ops::Band::none());
  }
  // Sentences join the state: encoded, with the keys and values of cross attention.
  void open(Context& ctx, State& state, const Lengths& source, std::span<const int32_t> ids) const;
  void pack(Precision precision);
  // All ids and lengths of a call, before anything is computed or a cache is touched.
  void check_ids(std::string_view what, std::span<const int32_t> ids, const Lengths& lengths,
                 size_t vocabulary) const;

  ModelConfig config;
  size_t source_vocabulary, target_vocabulary;
  ParameterSet parameters;
  std::optional<nn::Embedding> source_embedding, target_embedding;
  std::optional<nn::Encoder> encoder;
  std::optional<nn::Decoder> decoder;       // with an encoder
  std::optional<nn::Encoder> decoder_only;  // without: layers that are causal, and no memory
  std::optional<nn::Output> output;

 private:
  nn::LayerOptions layer_options(const nn::DeepNorm& constants) const;
  nn::Embedding embedding(const Scope& root, const std::string& side, const Weight& table);

  nn::RotaryPositions rotary_;            // one table for all layers
  std::set<const Parameter*> looked_up_;  // tables that no product reads
};

}  // namespace rapt
