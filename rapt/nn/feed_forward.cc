#include "rapt/nn/feed_forward.h"

#include "rapt/ops/activate.h"

namespace rapt::nn {

FeedForward::FeedForward(const Scope& scope, const LayerOptions& options)
    : linear1_(scope / "linear1", options.d_model, options.d_ff, options.deep_norm.beta),
      linear2_(scope / "linear2", options.d_ff, options.d_model, options.deep_norm.beta),
      activation_(options.activation),
      dropout_{options.dropout_activation, scope.site("dropout")} {}

Var FeedForward::operator()(Context& ctx, const Var& x, const Lengths& sentences) const {
  // Without dropout the product's epilogue computes f; with it f and dropout are one pass.
  if (!dropout_.rate(ctx).on()) return linear2_(ctx, linear1_(ctx, x, activation_));
  const Var hidden = ops::activate(ctx, linear1_(ctx, x), activation_, dropout_, sentences);
  return linear2_(ctx, hidden);
}

}  // namespace rapt::nn
