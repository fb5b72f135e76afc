#include "rapt/nn/encoder_layer.h"

namespace rapt::nn {

EncoderLayer::EncoderLayer(const Scope& scope, const LayerOptions& options)
    : Module(scope, "EncoderLayer"),
      self_attention_(scope / "self_attn", options),
      attention_norm_(scope, 1, options),
      feed_forward_(scope, options),
      feed_forward_norm_(scope, 2, options) {}

template <class Attention>
Var EncoderLayer::run(Context& ctx, const Var& x, const Lengths& lengths,
                      const Attention& attention) const {
  const Var a = attention_norm_(ctx, x, lengths, attention);
  return feed_forward_norm_(ctx, a, lengths,
                            [&](const Var& in) { return feed_forward_(ctx, in, lengths); });
}

Var EncoderLayer::operator()(Context& ctx, const Var& x, const Lengths& sentences,
                             ops::Band band) const {
  return run(ctx, x, sentences,
             [&](const Var& in) { return self_attention_(ctx, in, sentences, band); });
}

Var EncoderLayer::step(Context& ctx, const Var& x, const Lengths& lengths,
                       const LayerCache& cache) const {
  return run(ctx, x, lengths,
             [&](const Var& in) { return self_attention_.step(ctx, in, lengths, cache); });
}

}  // namespace rapt::nn
