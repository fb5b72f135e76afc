// The normalisation of a model's rows, of one kind, with its parameters:
//   layer  weight, bias     torch.nn.LayerNorm        Ba et al., 2016
//   rms    weight           torch.nn.RMSNorm          Zhang and Sennrich, 2019
//   batch  weight, bias     torch.nn.BatchNorm1d      Ioffe and Szegedy, 2015
//          and the buffers running_mean, running_var, num_batches_tracked
//   none   nothing: y = x
#pragma once
#include "rapt/base/lengths.h"
#include "rapt/nn/layer_options.h"
#include "rapt/nn/module.h"
#include "rapt/ops/dropout.h"

namespace rapt::nn {

class Norm : public Module {
 public:
  Norm(const Scope& scope, NormKind kind, size_t d_model, float eps);

  Var operator()(Context& ctx, const Var& x) const;
  // Norm(alpha x + dropout(sub)), in one pass where there is a kernel for it; rows are those of
  // `lengths`.
  Var of_sum(Context& ctx, const Var& x, const Var& sub, float alpha, const Dropout& dropout,
             const Lengths& lengths) const;

 private:
  Var gamma(Context& ctx) const { return ctx.leaf(gamma_->value); }
  Var beta(Context& ctx) const { return ctx.leaf(beta_->value); }

  NormKind kind_;
  float eps_;
  const Parameter *gamma_ = nullptr, *beta_ = nullptr;
  const Parameter *mean_ = nullptr, *var_ = nullptr, *batches_ = nullptr;
};

}  // namespace rapt::nn
