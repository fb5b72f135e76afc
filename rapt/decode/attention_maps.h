// What each head of a model looked at while it read one sentence pair, teacher-forced.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/models/model_directory.h"

namespace rapt {

struct AttentionMap {
  enum class Kind { kEncoder, kDecoder, kCross } kind;
  size_t layer = 0, head = 0;   // from 0
  std::vector<double> weights;  // [queries, keys]; each row and the head's sink sum to 1
};

// The keys that query i of self-attention sees through a window (0: none), of `keys`; all in cross
// attention.
struct SeenKeys {
  size_t first, count;
};
SeenKeys keys_seen(AttentionMap::Kind kind, size_t window, size_t i, size_t keys);

struct AttentionMaps {
  std::vector<std::string> source, target;  // symbols on the axes; target as the decoder reads it
  std::vector<AttentionMap> maps;           // encoder, decoder, cross; layer by layer, head by head
  bool sink = false;                        // the heads have sinks
  size_t window = 0;                        // of self-attention; 0: none
  const std::vector<std::string>& queries(AttentionMap::Kind kind) const {
    return kind == AttentionMap::Kind::kEncoder ? source : target;
  }
  const std::vector<std::string>& keys(AttentionMap::Kind kind) const {
    return kind == AttentionMap::Kind::kDecoder ? target : source;
  }
};

// Which attention an observer is shown the weights of: "decoder.layers.1.multihead_attn.weights" is
// cross attention of layer 1. Nothing for what are not weights.
struct AttentionPlace {
  AttentionMap::Kind kind;
  size_t layer;  // from 0
};
std::optional<AttentionPlace> attention_place(std::string_view watched);

// Throws InvalidArgument for a side that is longer than the model's positions.
AttentionMaps attention_maps(const Model& model, const Example& example, Pool& pool);

}  // namespace rapt
