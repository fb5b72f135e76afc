#include "rapt/nn/decoder_layer.h"

namespace rapt::nn {

DecoderLayer::DecoderLayer(const Scope& scope, const LayerOptions& options)
    : Module(scope, "DecoderLayer"),
      self_attention_(scope / "self_attn", options),
      self_attention_norm_(scope, 1, options),
      cross_attention_(scope / "multihead_attn", options.of_cross_attention()),
      cross_attention_norm_(scope, 2, options),
      feed_forward_(scope, options),
      feed_forward_norm_(scope, 3, options) {}

template <class SelfAttention, class CrossAttention>
Var DecoderLayer::run(Context& ctx, const Var& x, const Lengths& targets, const SelfAttention& self,
                      const CrossAttention& cross) const {
  const Var a = self_attention_norm_(ctx, x, targets, self);
  const Var b = cross_attention_norm_(ctx, a, targets, cross);
  return feed_forward_norm_(ctx, b, targets,
                            [&](const Var& in) { return feed_forward_(ctx, in, targets); });
}

Var DecoderLayer::operator()(Context& ctx, const Var& x, const Lengths& targets, const Var& memory,
                             const Lengths& sources) const {
  return run(
      ctx, x, targets,
      [&](const Var& in) {
        return self_attention_(ctx, in, targets, ops::Band::causal_top_left());
      },
      [&](const Var& in) { return cross_attention_(ctx, in, targets, memory, sources); });
}

Var DecoderLayer::step(Context& ctx, const Var& x, const Lengths& lengths, const LayerCache& cache,
                       const MemoryRows& memory) const {
  return run(
      ctx, x, lengths, [&](const Var& in) { return self_attention_.step(ctx, in, lengths, cache); },
      [&](const Var& in) { return cross_attention_.step(ctx, in, lengths, memory); });
}

}  // namespace rapt::nn
