// What attention compares queries and keys by, with its parameters (docs/math/score.md). Of a head:
//   scaled-dot  q . k / sqrt(d_k)          the paper's
//   dot         q . k
//   bilinear    k^T W q                    W = score_weight[h]
//   additive    v . tanh(W1 k + W2 q)      W1 = score_key_weight[h], W2 = score_query_weight[h],
//                                          v = score_vector[h]
//   cosine      g sqrt(d_k) cos(q, k)      g = score_gain[h]; 1 / (g sqrt(d_k)) is the temperature
// Each is phi(q) compared with psi(k): what depends on one row alone is computed once a row, and the
// rows psi(k) are what a cache keeps. New ones give scores of variance about 1, as the paper's.
#pragma once
#include "rapt/nn/layer_options.h"
#include "rapt/nn/scope.h"
#include "rapt/ops/score.h"

namespace rapt::nn {

class Score {
 public:
  Score(const Scope& scope, const LayerOptions& options);

  ops::Columns queries(Context& ctx, const ops::Columns& q) const;  // phi(q)
  ops::Columns keys(Context& ctx, const ops::Columns& k) const;     // psi(k)
  ops::Score between(Context& ctx) const;                           // of phi(q) and psi(k)
  float scale() const;                                              // of their product

 private:
  ScoreKind kind_;
  size_t heads_, kv_heads_, d_k_;
  const Parameter *query_weight_ = nullptr, *key_weight_ = nullptr;  // [heads, d_k, d_k]
  const Parameter* vector_ = nullptr;                                // [heads, d_k]
  const Parameter* gain_ = nullptr;                                  // [heads]
};

}  // namespace rapt::nn
