// The projection of the decoder's rows to the vocabulary, with or without a bias:
//   logits = y W^T + b        W [vocabulary, d_model], often the target embedding itself
#pragma once
#include "rapt/nn/module.h"
#include "rapt/ops/linear_cross_entropy.h"

namespace rapt::nn {

class Output : public Module {
 public:
  Output(const Scope& scope, const Weight& weight, const Parameter* bias)
      : Module(scope, "Output"), weight_(weight), bias_(bias) {}

  Var operator()(Context& ctx, const Var& y) const;
  ops::CrossEntropy loss(Context& ctx, const Var& y, std::span<const int32_t> targets,
                         const ops::LossOptions& options) const;

 private:
  const Weight& weight_;
  const Parameter* bias_;
};

}  // namespace rapt::nn
