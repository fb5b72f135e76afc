// LayerNorm (Ba et al., 2016) with its gain and bias: torch.nn.LayerNorm.
#pragma once
#include "rapt/nn/scope.h"
#include "rapt/ops/layer_norm.h"

namespace rapt::nn {

class LayerNorm {
 public:
  LayerNorm(const Scope& scope, size_t d_model, float eps)
      : gamma_(scope.parameter("weight", {d_model}, Init::ones())),
        beta_(scope.parameter("bias", {d_model}, Init::zeros())),
        eps_(eps) {}

  Var operator()(Context& ctx, const Var& x) const {
    return ops::layer_norm(ctx, x, gamma(ctx), beta(ctx), eps_);
  }
  Var gamma(Context& ctx) const { return ctx.leaf(gamma_.value); }
  Var beta(Context& ctx) const { return ctx.leaf(beta_.value); }
  float eps() const { return eps_; }

 private:
  const Parameter& gamma_;
  const Parameter& beta_;
  float eps_;
};

}  // namespace rapt::nn
