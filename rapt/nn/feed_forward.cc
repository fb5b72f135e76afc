#include "rapt/nn/feed_forward.h"

#include "rapt/ops/activate.h"
#include "rapt/ops/gated.h"

namespace rapt::nn {

FeedForward::FeedForward(const Scope& scope, const LayerOptions& options)
    : Module(scope, "FeedForward",
             concat("activation=", name_of(options.activation), options.gated ? ", gated" : "")),
      linear1_(scope / "linear1", options.d_model, options.d_ff, options.deep_norm.beta),
      dropout_(scope.dropout("dropout", options.dropout_activation)),
      linear2_(scope / "linear2", options.d_ff, options.d_model, options.deep_norm.beta),
      activation_(options.activation) {
  if (options.gated)
    linear3_.emplace(scope / "linear3", options.d_model, options.d_ff, options.deep_norm.beta);
}

Var FeedForward::operator()(Context& ctx, const Var& x, const Lengths& sentences) const {
  if (linear3_) {
    const Var gate = linear1_(ctx, x), value = (*linear3_)(ctx, x);
    return linear2_(ctx, ops::gated(ctx, gate, value, activation_, dropout_, sentences));
  }
  // Without dropout the product's epilogue computes f; with it f and dropout are one pass.
  if (!dropout_.rate(ctx).on()) return linear2_(ctx, linear1_(ctx, x, activation_));
  const Var hidden = ops::activate(ctx, linear1_(ctx, x), activation_, dropout_, sentences);
  return linear2_(ctx, hidden);
}

}  // namespace rapt::nn
