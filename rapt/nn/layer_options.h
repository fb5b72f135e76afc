// What all layers of a stack share.
#pragma once
#include <cstddef>

#include "rapt/kernels/activation.h"
#include "rapt/nn/deep_norm.h"
#include "rapt/nn/positions.h"

namespace rapt {

// How a sub-layer f, with its dropout, is joined to its input x (docs/math/residual.md).
enum class Residual {
  kNone,      // f(x)
  kPlain,     // x + f(x)
  kPost,      // Norm(x + f(x)), the paper's
  kPre,       // x + f(Norm(x))
  kBranch,    // x + Norm(f(x))
  kDeepNorm,  // Norm(alpha x + f(x))
};

enum class NormKind {
  kLayer,
  kRms,
  kBatch,
  kNone,  // Norm(x) = x
};

// What attention compares a query and a key by: nn/score.h has the formulas.
enum class ScoreKind { kScaledDot, kDot, kBilinear, kAdditive, kCosine };

namespace nn {

// The width of a head where `wanted` leaves it to the paper.
constexpr size_t head_width(size_t wanted, size_t d_model, size_t heads) {
  return wanted == 0 ? d_model / heads : wanted;
}

struct LayerOptions {
  size_t d_model = 512, heads = 8, d_ff = 2048;
  size_t d_k = 0, d_v = 0;  // of a head: of queries and keys, of values; 0: d_model / heads
  size_t kv_heads = 0;      // heads of keys and values, which groups of query heads share; 0: heads
  ScoreKind score = ScoreKind::kScaledDot;
  bool attention_sink = false;
  // Of self-attention alone:
  size_t window = 0;  // keys that are farther from a query are hidden; 0: none
  bool alibi = false;
  RotaryPositions rotary = {};
  Residual residual = Residual::kPost;
  DeepNorm deep_norm = {};  // its constants, or ones
  NormKind norm = NormKind::kLayer;
  float norm_eps = 1e-5f;
  kernels::Activation activation = kernels::Activation::kRelu;
  bool gated = false;
  size_t experts = 0, experts_top_k = 2, expert_every = 1;  // 0 experts: one network for all tokens
  float dropout_attention = 0, dropout_activation = 0, dropout_residual = 0;

  size_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  // Queries and keys of two sentences have no distance.
  LayerOptions of_cross_attention() const {
    LayerOptions options = *this;
    options.window = 0;
    options.alibi = false;
    options.rotary = {};
    return options;
  }
  // Those of layer i of a stack: of every `expert_every` layers the last has experts.
  LayerOptions of_layer(size_t i) const {
    LayerOptions layer = *this;
    if ((i + 1) % expert_every != 0) layer.experts = 0;
    return layer;
  }
};

}  // namespace nn
}  // namespace rapt
