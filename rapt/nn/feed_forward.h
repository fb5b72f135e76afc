// The position-wise feed-forward network (Vaswani et al., 2017, section 3.3), plain or gated
// (Shazeer, 2020), f one of the activations:
//   FFN(x)   = dropout(f(x W1^T + b1)) W2^T + b2
//   gated(x) = dropout(f(x W1^T + b1) * (x W3^T + b3)) W2^T + b2
// Gated with sigmoid it is GLU, with ReLU, GELU and SiLU ReGLU, GEGLU and SwiGLU.
#pragma once
#include <optional>

#include "rapt/nn/layer_options.h"
#include "rapt/nn/linear.h"
#include "rapt/ops/dropout.h"

namespace rapt::nn {

// Parameters linear1.* and linear2.*, dropout "dropout", as in nn.TransformerEncoderLayer; if gated
// linear3.* too.
class FeedForward : public Module {
 public:
  FeedForward(const Scope& scope, const LayerOptions& options);
  Var operator()(Context& ctx, const Var& x, const Lengths& sentences) const;

 private:
  Linear linear1_;
  Dropout dropout_;
  Linear linear2_;
  std::optional<Linear> linear3_;
  kernels::Activation activation_;
};

}  // namespace rapt::nn
