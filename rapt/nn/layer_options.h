// What all layers of a stack share.
#pragma once
#include <cstddef>

#include "rapt/kernels/activation.h"
#include "rapt/nn/deep_norm.h"

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
  ScoreKind score = ScoreKind::kScaledDot;
  Residual residual = Residual::kPost;
  DeepNorm deep_norm = {};  // its constants, or ones
  NormKind norm = NormKind::kLayer;
  float norm_eps = 1e-5f;
  kernels::Activation activation = kernels::Activation::kRelu;
  float dropout_attention = 0, dropout_activation = 0, dropout_residual = 0;
};

}  // namespace nn
}  // namespace rapt
