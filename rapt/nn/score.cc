#include "rapt/nn/score.h"

#include <cmath>

#include "rapt/ops/head_linear.h"
#include "rapt/ops/unit_rows.h"

namespace rapt::nn {
namespace {

using ops::Columns;
using ops::Heads;

constexpr float kEps = 1e-6f;  // of a length; rows of zeros have cosine 0

// A matrix for each head.
const Parameter& matrices(const Scope& scope, const char* name, size_t heads, size_t d_k,
                          double std) {
  Parameter& p = scope.parameter(name, {heads, d_k, d_k}, Init::normal(static_cast<float>(std)));
  p.decay = true;
  return p;
}

Heads heads_of(const Columns& x, size_t heads, size_t d_k) {
  return {x, Lengths::single(x.x.rows()), heads, d_k};
}

}  // namespace

Score::Score(const Scope& scope, const LayerOptions& options)
    : kind_(options.score),
      heads_(options.heads),
      kv_heads_(options.key_heads()),
      d_k_(head_width(options.d_k, options.d_model, options.heads)) {
  const double d = static_cast<double>(d_k_), root = std::sqrt(d);
  switch (kind_) {
    case ScoreKind::kScaledDot:
    case ScoreKind::kDot:
      break;
    case ScoreKind::kBilinear:
      query_weight_ = &matrices(scope, "score_weight", heads_, d_k_, 1 / d);
      break;
    case ScoreKind::kAdditive:
      query_weight_ = &matrices(scope, "score_query_weight", heads_, d_k_, 1 / root);
      key_weight_ = &matrices(scope, "score_key_weight", kv_heads_, d_k_, 1 / root);
      vector_ = &scope.parameter("score_vector", {heads_, d_k_},
                                 Init::normal(static_cast<float>(1 / root)));
      break;
    case ScoreKind::kCosine:
      gain_ = &scope.parameter("score_gain", {heads_}, Init::ones());
      break;
  }
}

Columns Score::queries(Context& ctx, const Columns& q) const {
  if (query_weight_ != nullptr) {
    const Var w = ctx.leaf(query_weight_->value);
    return {ops::head_linear(ctx, heads_of(q, heads_, d_k_), w)};
  }
  if (gain_ != nullptr) {
    const Var gain = ctx.leaf(gain_->value);
    return {ops::unit_rows(ctx, heads_of(q, heads_, d_k_), &gain, kEps)};
  }
  return q;
}

Columns Score::keys(Context& ctx, const Columns& k) const {
  if (key_weight_ != nullptr) {
    const Var w = ctx.leaf(key_weight_->value);
    return {ops::head_linear(ctx, heads_of(k, kv_heads_, d_k_), w)};
  }
  if (gain_ != nullptr) return {ops::unit_rows(ctx, heads_of(k, kv_heads_, d_k_), nullptr, kEps)};
  return k;
}

ops::Score Score::between(Context& ctx) const {
  return vector_ == nullptr ? ops::Score::product()
                            : ops::Score::additive(ctx.leaf(vector_->value));
}

float Score::scale() const {
  const double root = std::sqrt(static_cast<double>(d_k_));
  switch (kind_) {
    case ScoreKind::kScaledDot:
      return static_cast<float>(1 / root);
    case ScoreKind::kCosine:
      return static_cast<float>(root);
    default:
      return 1.0f;
  }
}

}  // namespace rapt::nn
