// Batch normalisation: y = gamma * (x - mean) / sqrt(var + eps) + beta, column by column.
// docs/math/batch_norm.md derives the gradient.
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

// Means and variances [d] that training collects and evaluation uses, as torch.nn.BatchNorm1d:
//   mean = (1 - momentum) mean + momentum (mean of the batch)
//   var  = (1 - momentum) var  + momentum (variance of the batch, n - 1 in the denominator)
struct RunningMoments {
  Tensor mean, var;
  Tensor batches;  // [], how many batches came in
  float momentum = 0.1f;
};

// x [n, d], gamma, beta [d]; throws InvalidArgument on other shapes. Training takes the statistics
// from x, so that a row's result depends on all the others, and changes `running` by ctx.commit():
// not by a single row, whose variance says nothing. Evaluation and inference take `running`.
Var batch_norm(Context& ctx, const Var& x, const Var& gamma, const Var& beta,
               const RunningMoments& running, float eps);

}  // namespace rapt::ops
