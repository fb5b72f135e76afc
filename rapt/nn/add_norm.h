// The residual connection around a sub-layer f, with its LayerNorm:
//   post  y = LayerNorm(x + dropout(f(x)))      Vaswani et al., 2017
//   pre   y = x + dropout(f(LayerNorm(x)))      Xiong et al., 2020
#pragma once
#include <string>

#include "rapt/nn/layer_norm.h"
#include "rapt/nn/layer_options.h"
#include "rapt/ops/add_norm.h"

namespace rapt::nn {

class AddNorm {
 public:
  // Of sub-layer 1, 2 or 3 of a layer: parameters norm1.*, dropout site "dropout1".
  AddNorm(const Scope& layer, int sub_layer, const LayerOptions& options)
      : norm_(layer / ("norm" + std::to_string(sub_layer)), options.d_model, options.norm_eps),
        dropout_{options.dropout_residual, layer.site("dropout" + std::to_string(sub_layer))},
        order_(options.norm_order) {}

  // f is Var(const Var&); rows are those of `sentences`.
  template <class SubLayer>
  Var operator()(Context& ctx, const Var& x, const Lengths& sentences, const SubLayer& f) const {
    if (order_ == NormOrder::kPre) {
      return ops::add_dropout(ctx, x, f(norm_(ctx, x)), dropout_, sentences);
    }
    return ops::add_norm(ctx, x, f(x), norm_.gamma(ctx), norm_.beta(ctx), norm_.eps(), dropout_,
                         sentences);
  }

 private:
  LayerNorm norm_;
  Dropout dropout_;
  NormOrder order_;
};

}  // namespace rapt::nn
