// The position-wise feed-forward network (Vaswani et al., 2017, section 3.3):
//   FFN(x) = dropout(f(x W1^T + b1)) W2^T + b2
#pragma once
#include "rapt/nn/layer_options.h"
#include "rapt/nn/linear.h"
#include "rapt/ops/dropout.h"

namespace rapt::nn {

// Parameters linear1.* and linear2.*, dropout site "dropout", as in nn.TransformerEncoderLayer.
class FeedForward {
 public:
  FeedForward(const Scope& scope, const LayerOptions& options);
  Var operator()(Context& ctx, const Var& x, const Lengths& sentences) const;

 private:
  Linear linear1_, linear2_;
  kernels::Activation activation_;
  Dropout dropout_;
};

}  // namespace rapt::nn
