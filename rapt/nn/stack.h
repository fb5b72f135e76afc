// A stack of equal layers, and the norm after the last where there is one: "layers.0" …,
// "norm", as in torch.nn.TransformerEncoder and TransformerDecoder.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rapt/nn/decoder_layer.h"
#include "rapt/nn/encoder_layer.h"

namespace rapt::nn {

template <class Layer>
class Stack : public Module {
 public:
  Stack(const Scope& scope, size_t layers, const LayerOptions& options, bool final_norm)
      : Module(scope, "Stack") {
    (scope / "layers").describe("List");
    layers_.reserve(layers);
    for (size_t i = 0; i < layers; ++i) {
      layers_.emplace_back(scope / "layers" / std::to_string(i), options.of_layer(i));
    }
    if (final_norm) {
      norm_.emplace(scope / "norm", options.norm, options.d_model, options.norm_eps);
    }
  }

  size_t size() const { return layers_.size(); }
  const Layer& operator[](size_t i) const { return layers_[i]; }

  // f(i, layer, x) is the output of layer i.
  template <class F>
  Var run(Context& ctx, const Var& x, const F& f) const {
    Var y = x;
    for (size_t i = 0; i < layers_.size(); ++i) y = f(i, layers_[i], y);
    return norm_ ? (*norm_)(ctx, y) : y;
  }
  template <class... More>
  Var operator()(Context& ctx, const Var& x, const More&... more) const {
    return run(ctx, x,
               [&](size_t, const Layer& layer, const Var& y) { return layer(ctx, y, more...); });
  }

 private:
  std::vector<Layer> layers_;
  std::optional<Norm> norm_;
};

using Encoder = Stack<EncoderLayer>;
using Decoder = Stack<DecoderLayer>;

}  // namespace rapt::nn
