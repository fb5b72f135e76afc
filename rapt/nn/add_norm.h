// The residual connection around a sub-layer f, with its normalisation. With g(x) = dropout(f(x)):
//   none      y = g(x)
//   plain     y = x + g(x)              He et al., 2016
//   post      y = Norm(x + g(x))        Vaswani et al., 2017
//   pre       y = x + g(Norm(x))        Xiong et al., 2020
//   branch    y = x + Norm(g(x))
//   deepnorm  y = Norm(alpha x + g(x))  Wang et al., 2022
//
// An observed context is shown, under "<layer>.residual1." with the number of the sub-layer, "input",
// "branch" and "output": x, x as the side of f reads it, and f's result. Each has a gradient,
// "<name>.gradient" (autograd/watch.h): that of "input" is dL/dx, that of "branch" the part of it
// that came through f.
#pragma once
#include <string>

#include "rapt/autograd/watch.h"
#include "rapt/nn/layer_options.h"
#include "rapt/nn/norm.h"
#include "rapt/ops/add.h"
#include "rapt/ops/add_norm.h"

namespace rapt::nn {

class AddNorm {
 public:
  // Of sub-layer 1, 2 or 3 of a layer: parameters norm1.*, dropout site "dropout1".
  AddNorm(const Scope& layer, int sub_layer, const LayerOptions& options)
      : residual_(options.residual),
        alpha_(options.deep_norm.alpha),
        norm_(layer / ("norm" + std::to_string(sub_layer)), kind(options), options.d_model,
              options.norm_eps),
        dropout_(layer.dropout("dropout" + std::to_string(sub_layer), options.dropout_residual)),
        name_((layer / ("residual" + std::to_string(sub_layer))).name()) {}

  // f is Var(const Var&); rows are those of `sentences`.
  template <class SubLayer>
  Var operator()(Context& ctx, const Var& input, const Lengths& sentences,
                 const SubLayer& sub_layer) const {
    const Var x = show(ctx, ".input", input), branch = show(ctx, ".branch", x);
    const auto f = [&](const Var& in) { return show(ctx, ".output", sub_layer(in)); };
    switch (residual_) {
      case Residual::kNone:
        return ops::dropout(ctx, f(branch), sentences, dropout_);
      case Residual::kPre:
        return ops::add_dropout(ctx, x, f(norm_(ctx, branch)), dropout_, sentences);
      case Residual::kBranch:
        return ops::add(ctx, x, norm_(ctx, ops::dropout(ctx, f(branch), sentences, dropout_)));
      case Residual::kPlain:  // its norm is none, its alpha 1; so is that of post
      case Residual::kPost:
      case Residual::kDeepNorm:
        break;
    }
    return norm_.of_sum(ctx, x, f(branch), alpha_, dropout_, sentences);
  }

 private:
  static NormKind kind(const LayerOptions& options) {
    const Residual r = options.residual;
    return r == Residual::kNone || r == Residual::kPlain ? NormKind::kNone : options.norm;
  }

  Var show(Context& ctx, const char* what, const Var& x) const {
    return ctx.observed() ? watched(ctx, name_ + what, x) : x;
  }

  Residual residual_;
  float alpha_;
  Norm norm_;
  Dropout dropout_;
  std::string name_;  // to observers
};

}  // namespace rapt::nn
