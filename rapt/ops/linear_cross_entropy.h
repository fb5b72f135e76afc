// Output projection and loss in one, by chunks of rows (docs/math/linear_cross_entropy.md):
//   z = x W^T + b     nll = -log softmax(z)[target]
//   objective = sum over rows of (1 - e) nll + u (sum over classes of -log softmax(z))
// where, with the smoothing eps and V classes,
//   pytorch: u = eps / V          e = eps        the target keeps 1 - eps + eps / V
//   fairseq: u = eps / (V - 1)    e = eps + u    the target keeps 1 - eps
// Neither the logits nor their gradient, [rows, V], is ever whole in memory: when the context
// records, the gradients for x, W and b are computed in the forward pass, and backward scales them.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/autograd/context.h"
#include "rapt/ops/weight.h"

namespace rapt::ops {

enum class Smoothing {
  kPytorch,  // eps spread over all classes, the right one included
  kFairseq,  // eps spread over the others
};

struct LossOptions {
  float smoothing = 0;  // eps, in [0, 1)
  Smoothing formula = Smoothing::kPytorch;
};

struct CrossEntropy {
  Var objective;  // scalar: the sum over rows, with smoothing
  Tensor nll;     // scalar: the sum over rows without, no gradient
};

// x [rows, in], W [V, in], b [V] or none; targets: one a row, in [0, V). The sums have a fixed
// order: the bits depend on no thread. Throws InvalidArgument for a wrong shape, a target out of
// range or a smoothing out of range.
CrossEntropy linear_cross_entropy(Context& ctx, const Var& x, const Weight& w,
                                  const Parameter* bias, std::span<const int32_t> targets,
                                  const LossOptions& options = {});

// The same for a matrix that is no parameter of a model.
CrossEntropy linear_cross_entropy(Context& ctx, const Var& x, const Var& w, const Var* bias,
                                  std::span<const int32_t> targets,
                                  const LossOptions& options = {});

}  // namespace rapt::ops
