#include "rapt/nn/multi_head_attention.h"

#include <algorithm>
#include <cmath>

namespace rapt::nn {

using ops::Band;
using ops::CachedKeys;
using ops::Columns;

MultiHeadAttention::MultiHeadAttention(const Scope& scope, const LayerOptions& options)
    : d_model_(options.d_model),
      heads_(options.heads),
      dropout_{options.dropout_attention, scope.site("dropout")},
      weights_name_((scope / "weights").name()),
      in_proj_weight_(
          scope.weight("in_proj_weight", 3 * d_model_, d_model_,
                       Init::xavier(options.deep_norm.beta, /*first_row=*/2 * d_model_))),
      in_proj_bias_(scope.parameter("in_proj_bias", {3 * d_model_}, Init::zeros())),
      out_proj_(scope / "out_proj", d_model_, d_model_, options.deep_norm.beta) {}

ops::AttentionArgs MultiHeadAttention::args(Band band) const {
  ops::AttentionArgs args;
  args.heads = args.kv_heads = heads_;
  args.dim = args.dim_v = d_model_ / heads_;
  args.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(args.dim)));
  args.band = band;
  args.dropout = dropout_;
  return args;
}

Var MultiHeadAttention::attend(Context& ctx, const Columns& q, const Columns& k, const Columns& v,
                               const Lengths& queries, const Lengths& keys, Band band) const {
  const ops::AttentionArgs a = args(band);
  if (ctx.observed()) {
    ctx.watch(weights_name_, ops::attention_weights(ctx, q, k, queries, keys, a));
  }
  return out_proj_(ctx, ops::attention(ctx, q, k, v, queries, keys, a));
}

Var MultiHeadAttention::attend_cached(Context& ctx, const Var& q, const Lengths& queries,
                                      std::span<const CachedKeys> keys, Band band) const {
  const ops::AttentionArgs a = args(band);
  if (ctx.observed()) {
    ctx.watch(weights_name_, ops::attention_weights_cached(ctx, {q, 0}, queries, keys, a));
  }
  return out_proj_(ctx, ops::attention_cached(ctx, {q, 0}, queries, keys, a));
}

Var MultiHeadAttention::operator()(Context& ctx, const Var& x, const Lengths& sentences,
                                   Band band) const {
  const Var qkv = ops::linear(ctx, x, in_proj_weight_, &in_proj_bias_);
  return attend(ctx, {qkv, 0}, {qkv, d_model_}, {qkv, 2 * d_model_}, sentences, sentences, band);
}

Var MultiHeadAttention::operator()(Context& ctx, const Var& x, const Lengths& targets,
                                   const Var& memory, const Lengths& sources) const {
  const Var kv = keys_values(ctx, memory);
  return attend(ctx, {queries(ctx, x), 0}, {kv, first_key()}, {kv, first_key() + d_model_}, targets,
                sources, Band::none());
}

Var MultiHeadAttention::queries(Context& ctx, const Var& x) const {
  return ops::linear_part(ctx, x, in_proj_weight_, &in_proj_bias_, {0, d_model_});
}

// Packed weights come in panels: the part starts with that of the first key.
Var MultiHeadAttention::keys_values(Context& ctx, const Var& memory) const {
  return ops::linear_part(ctx, memory, in_proj_weight_, &in_proj_bias_,
                          {d_model_ - first_key(), 3 * d_model_});
}

Var MultiHeadAttention::step(Context& ctx, const Var& x, const Lengths& lengths,
                             const LayerCache& cache) const {
  const Var qkv = ops::linear(ctx, x, in_proj_weight_, &in_proj_bias_);
  const MatrixView<float> keys = cache.keys.matrix(), values = cache.values.matrix();
  for (size_t r = 0; r < qkv.rows(); ++r) {
    const auto slot = static_cast<size_t>(cache.written[r]);
    const std::span<const float> row = qkv.matrix().row(r);
    std::ranges::copy(row.subspan(d_model_, d_model_), keys.row(slot).data());
    std::ranges::copy(row.subspan(2 * d_model_, d_model_), values.row(slot).data());
  }
  const Buffer<CachedKeys> seen = ctx.buffer<CachedKeys>(lengths.sequences());
  for (size_t s = 0; s < seen.size(); ++s) {
    const std::span<const int32_t> slots = cache.read[s];
    new (&seen[s]) CachedKeys{keys, values, slots, static_cast<uint32_t>(slots.size()), 0};
  }
  return attend_cached(ctx, qkv, lengths, seen.span(), Band::causal_top_left());
}

Var MultiHeadAttention::step(Context& ctx, const Var& x, const Lengths& lengths,
                             const MemoryRows& keys_values) const {
  const Buffer<CachedKeys> seen = ctx.buffer<CachedKeys>(lengths.sequences());
  for (size_t s = 0; s < seen.size(); ++s) {
    const MatrixView<const float> kv = keys_values(s);
    const size_t k = first_key(), v = k + d_model_;
    new (&seen[s]) CachedKeys{kv.slice_cols(k, v),
                              kv.slice_cols(v, v + d_model_),
                              {},
                              static_cast<uint32_t>(kv.rows()),
                              0};
  }
  return attend_cached(ctx, queries(ctx, x), lengths, seen.span(), Band::none());
}

}  // namespace rapt::nn
