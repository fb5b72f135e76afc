#include "rapt/nn/norm.h"

#include "rapt/ops/add_norm.h"
#include "rapt/ops/batch_norm.h"
#include "rapt/ops/layer_norm.h"
#include "rapt/ops/rms_norm.h"
#include "rapt/ops/scale.h"

namespace rapt::nn {

namespace {

// As PyTorch calls it.
std::string_view name_of(NormKind kind) {
  switch (kind) {
    case NormKind::kLayer:
      return "LayerNorm";
    case NormKind::kRms:
      return "RMSNorm";
    case NormKind::kBatch:
      return "BatchNorm";
    case NormKind::kNone:
      break;
  }
  return "Identity";
}

}  // namespace

Norm::Norm(const Scope& scope, NormKind kind, size_t d_model, float eps)
    : Module(scope, name_of(kind), kind == NormKind::kNone ? "" : concat("eps=", eps)),
      kind_(kind),
      eps_(eps) {
  if (kind == NormKind::kNone) return;
  gamma_ = &scope.parameter("weight", {d_model}, Init::ones());
  if (kind == NormKind::kRms) return;
  beta_ = &scope.parameter("bias", {d_model}, Init::zeros());
  if (kind == NormKind::kLayer) return;
  mean_ = &scope.buffer("running_mean", {d_model}, Init::zeros());
  var_ = &scope.buffer("running_var", {d_model}, Init::ones());
  batches_ = &scope.buffer("num_batches_tracked", {}, Init::zeros());
}

Var Norm::operator()(Context& ctx, const Var& x) const {
  switch (kind_) {
    case NormKind::kLayer:
      return ops::layer_norm(ctx, x, gamma(ctx), beta(ctx), eps_);
    case NormKind::kRms:
      return ops::rms_norm(ctx, x, gamma(ctx), eps_);
    case NormKind::kBatch:
      return ops::batch_norm(ctx, x, gamma(ctx), beta(ctx),
                             {mean_->value, var_->value, batches_->value}, eps_);
    case NormKind::kNone:
      break;
  }
  return x;
}

Var Norm::of_sum(Context& ctx, const Var& x, const Var& sub, float alpha, const Dropout& dropout,
                 const Lengths& lengths) const {
  if (kind_ == NormKind::kLayer) {
    return ops::add_norm(ctx, x, sub, gamma(ctx), beta(ctx), eps_, dropout, lengths, alpha);
  }
  const Var scaled = alpha == 1 ? x : ops::scale(ctx, x, alpha);
  return (*this)(ctx, ops::add_dropout(ctx, scaled, sub, dropout, lengths));
}

}  // namespace rapt::nn
