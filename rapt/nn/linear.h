// y = x W^T + b, W [out, in]: torch.nn.Linear.
#pragma once
#include "rapt/nn/module.h"
#include "rapt/ops/linear.h"

namespace rapt::nn {

class Linear : public Module {
 public:
  // Owns weight [out, in] and bias [out]. `gain` multiplies the first values of the weight.
  Linear(const Scope& scope, size_t in, size_t out, float gain = 1)
      : Module(scope, "Linear"),
        weight_(scope.weight("weight", out, in, Init::xavier(gain))),
        bias_(scope.parameter("bias", {out}, Init::zeros())) {}

  // With an activation it is computed in the product's epilogue: y = f(x W^T + b).
  Var operator()(Context& ctx, const Var& x,
                 kernels::Activation activation = kernels::Activation::kNone) const {
    return ops::linear(ctx, x, weight_, &bias_, activation);
  }

 private:
  const Weight& weight_;
  const Parameter& bias_;
};

}  // namespace rapt::nn
