#include "rapt/nn/output.h"

#include "rapt/ops/linear.h"

namespace rapt::nn {

Var Output::operator()(Context& ctx, const Var& y) const {
  return ops::linear(ctx, y, weight_, bias_);
}

ops::CrossEntropy Output::loss(Context& ctx, const Var& y, std::span<const int32_t> targets,
                               const ops::LossOptions& options) const {
  return ops::linear_cross_entropy(ctx, y, weight_, bias_, targets, options);
}

}  // namespace rapt::nn
