// What a trained model does with a text that it reads, teacher-forced: what its heads look at, how
// large its activations are, and which way the gradient of the loss takes.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "rapt/decode/attention_maps.h"
#include "rapt/train/expert_use.h"

namespace rapt::insight {

// Means over queries that see at least two keys. A query's scores s_j are known from its weights up
// to a constant, which changes nothing: ln w_j = s_j - ln sum exp s. (A weight that underflows, of a
// score more than 87 below the greatest, counts as the least float.)
struct HeadView {
  double variance = 0;   // of a query's scores over its keys, after scaling, masks and positions
  double effective = 0;  // exp(entropy) / keys seen: 1 when attention is even
  double saturated = 0;  // share of queries with a weight over 0.99
  double unscaled = 0;   // the same had scores not been divided by sqrt(d_k)
  double first = 0;      // weight on the first key, over queries that see at least kFirstKeys
  double even = 0;       // what even attention would put there
  double sink = 0;       // on the learned sink, if there is one
};
inline constexpr size_t kFirstKeys = 4;
inline constexpr double kSaturated = 0.99;

struct AttentionView {
  AttentionMap::Kind kind;
  size_t layer;  // from 0
  std::vector<HeadView> heads;
};

// One sub-layer F of input x. Norms are roots of mean squares over sentences.
struct SubLayerSummary {
  std::string name;              // "encoder.layers.0.residual1": nn/add_norm.h
  double size = 0, largest = 0;  // of x: root mean square of its elements, greatest
  double branch = 0;             // |F(x)| / |x|, mean over rows
  double gradient = 0;           // |dL/dx|
  double through_branch = 0;     // the part that came through F …
  double through_residual = 0;   // … and the one that came past it
  bool in_encoder() const { return name.starts_with("encoder."); }
};

struct ModelView {
  std::vector<AttentionView> attention;     // encoder, decoder, cross; layer by layer
  std::vector<SubLayerSummary> sub_layers;  // in the order in which the model computes them
  std::vector<ExpertUse> experts;           // of the layers that have any, mean over sentences
  size_t sentences = 0, tokens = 0;         // tokens of the output, </s> included
  double loss = 0;                          // nats a token
  bool has_sink = false;
  bool scaled =
      false;  // scores are dot products over sqrt(d_k) and nothing else: `unscaled` is known
};

// One sentence at a time, so that memory is that of the longest. Throws InvalidArgument when there
// is no example, or one is longer than the model's positions.
ModelView view_model(const Model& model, std::span<const Example> examples, Pool& pool);

// Whether the model has positions enough for both sides, with </s>.
bool fits(const Model& model, const Example& example);

}  // namespace rapt::insight
