#include "rapt/nn/multi_head_attention.h"

#include <algorithm>

namespace rapt::nn {

using ops::Band;
using ops::CachedKeys;
using ops::Columns;

MultiHeadAttention::MultiHeadAttention(const Scope& scope, const LayerOptions& options)
    : Module(scope, "MultiHeadAttention", concat("heads=", options.heads)),
      heads_(options.heads),
      kv_heads_(options.key_heads()),
      d_k_(head_width(options.d_k, options.d_model, options.heads)),
      d_v_(head_width(options.d_v, options.d_model, options.heads)),
      dropout_(scope.dropout("dropout", options.dropout_attention)),
      slopes_(options.alibi ? alibi_slopes(heads_) : std::vector<float>()),
      rotary_(options.rotary),
      weights_name_((scope / "weights").name()),
      in_proj_weight_(scope.weight("in_proj_weight", end(), options.d_model,
                                   Init::xavier(options.deep_norm.beta, /*first_row=*/values()))),
      in_proj_bias_(scope.parameter("in_proj_bias", {end()}, Init::zeros())),
      score_(scope, options),
      sink_(options.attention_sink ? &scope.parameter("sink", {heads_}, Init::zeros()) : nullptr),
      out_proj_(scope / "out_proj", heads_ * d_v_, options.d_model, options.deep_norm.beta),
      interleaved_(options.score != ScoreKind::kAdditive && slopes_.empty() &&
                   kernels::attention_interleaves(kv_heads_, d_v_)) {
  if (options.window != 0) window_ = static_cast<uint32_t>(options.window);
}

ops::AttentionArgs MultiHeadAttention::args(Band band) const {
  ops::AttentionArgs args;
  args.heads = heads_;
  args.kv_heads = kv_heads_;
  args.dim = d_k_;
  args.dim_v = d_v_;
  args.scale = score_.scale();
  args.band = window_ ? band.within(*window_) : band;
  args.slopes = slopes_;
  args.dropout = dropout_;
  return args;
}

Var MultiHeadAttention::attend(Context& ctx, const Columns& q, const Columns& k, const Columns& v,
                               const Lengths& queries, const Lengths& keys, Band band) const {
  const ops::AttentionArgs a = args(band);
  const ops::Score score = score_.between(ctx);
  const Columns phi = score_.queries(ctx, q), psi = score_.keys(ctx, k);
  const Var logits = sink_ == nullptr ? Var() : ctx.leaf(sink_->value);
  const Var* sink = sink_ == nullptr ? nullptr : &logits;
  if (ctx.observed()) {
    ctx.watch(weights_name_,
              ops::attention_weights(ctx, score, phi, psi, queries, keys, a, nullptr, sink));
  }
  return out_proj_(ctx, ops::attention(ctx, score, phi, psi, v, queries, keys, a, nullptr, sink));
}

Var MultiHeadAttention::attend_cached(Context& ctx, const Columns& q, const Lengths& queries,
                                      std::span<const CachedKeys> keys, Band band) const {
  ops::AttentionArgs a = args(band);
  a.interleaved = interleaved_;
  const ops::Score score = score_.between(ctx);
  const Columns phi = score_.queries(ctx, q);
  const Tensor* sink = sink_ == nullptr ? nullptr : &sink_->value;
  if (ctx.observed()) {
    ctx.watch(weights_name_,
              ops::attention_weights_cached(ctx, score, phi, queries, keys, a, nullptr, sink));
  }
  return out_proj_(ctx, ops::attention_cached(ctx, score, phi, queries, keys, a, nullptr, sink));
}

Var MultiHeadAttention::project_self(Context& ctx, const Var& x, const Lengths& sentences) const {
  const Var qkv = ops::linear(ctx, x, in_proj_weight_, &in_proj_bias_);
  return rotary_.none() ? qkv : rotary_(ctx, qkv, heads_ + kv_heads_, sentences);
}

Var MultiHeadAttention::operator()(Context& ctx, const Var& x, const Lengths& sentences,
                                   Band band) const {
  const Var qkv = project_self(ctx, x, sentences);
  return attend(ctx, {qkv, 0}, {qkv, keys()}, {qkv, values()}, sentences, sentences, band);
}

Var MultiHeadAttention::operator()(Context& ctx, const Var& x, const Lengths& targets,
                                   const Var& memory, const Lengths& sources) const {
  const Var kv = project_memory(ctx, memory);
  return attend(ctx, {queries(ctx, x), 0}, {kv, keys() - first_column()},
                {kv, values() - first_column()}, targets, sources, Band::none());
}

Var MultiHeadAttention::queries(Context& ctx, const Var& x) const {
  return ops::linear_part(ctx, x, in_proj_weight_, &in_proj_bias_, {0, keys()});
}

Var MultiHeadAttention::project_memory(Context& ctx, const Var& memory) const {
  return ops::linear_part(ctx, memory, in_proj_weight_, &in_proj_bias_, {first_column(), end()});
}

void MultiHeadAttention::cache_keys(const Columns& keys, std::span<const int32_t> rows,
                                    MatrixView<float> cache) const {
  const MatrixView<const float> x =
      keys.x.matrix().slice_cols(keys.first, keys.first + kv_heads_ * d_k_);
  if (interleaved_) return kernels::interleave_heads(x, kv_heads_, rows, cache);
  for (size_t r = 0; r < x.rows(); ++r) {
    const size_t to = rows.empty() ? r : static_cast<size_t>(rows[r]);
    std::ranges::copy(x.row(r), cache.row(to).data());
  }
}

Var MultiHeadAttention::keys_values(Context& ctx, const Var& memory) const {
  const Var kv = project_memory(ctx, memory);
  const size_t first = keys() - first_column(), width = values() - keys();
  const MatrixView<float> place = kv.matrix().slice_cols(first, first + width);
  Columns psi = score_.keys(ctx, {kv, first});
  if (psi.x.data() == kv.data()) {
    if (!interleaved_) return kv;
    psi = {ctx.empty({kv.rows(), width})};
    kernels::copy_block(place, psi.x.matrix());
  }
  cache_keys(psi, {}, place);
  return kv;
}

Var MultiHeadAttention::step(Context& ctx, const Var& x, const Lengths& lengths,
                             const LayerCache& cache) const {
  const Var qkv = project_self(ctx, x, lengths);
  const Columns psi = score_.keys(ctx, {qkv, keys()});
  const MatrixView<float> all_keys = cache.keys.matrix(), all_values = cache.values.matrix();
  cache_keys(psi, cache.written, all_keys);
  for (size_t r = 0; r < qkv.rows(); ++r) {
    const auto slot = static_cast<size_t>(cache.written[r]);
    std::ranges::copy(qkv.matrix().row(r).subspan(values()), all_values.row(slot).data());
  }
  const Buffer<CachedKeys> seen = ctx.buffer<CachedKeys>(lengths.sequences());
  for (size_t s = 0; s < seen.size(); ++s) {
    const std::span<const int32_t> slots = cache.read[s];
    new (&seen[s]) CachedKeys{all_keys, all_values, slots, static_cast<uint32_t>(slots.size()), 0};
  }
  return attend_cached(ctx, {qkv, 0}, lengths, seen.span(), Band::causal_top_left());
}

Var MultiHeadAttention::step(Context& ctx, const Var& x, const Lengths& lengths,
                             const MemoryRows& keys_values) const {
  // Hypotheses of one sentence stand side by side and read the same memory: as rows of one sequence
  // they share the work on its keys and values. Cross attention knows no positions.
  std::vector<Sequence> readers;
  const Buffer<CachedKeys> seen = ctx.buffer<CachedKeys>(lengths.sequences());
  for (size_t s = 0; s < lengths.sequences(); ++s) {
    const MatrixView<const float> kv = keys_values(s);
    const size_t first = first_column();
    const CachedKeys memory{kv.slice_cols(keys() - first, values() - first),
                            kv.slice_cols(values() - first, end() - first),
                            {},
                            static_cast<uint32_t>(kv.rows()),
                            0};
    if (!readers.empty() && seen[readers.size() - 1].k.data() == memory.k.data()) {
      readers.back().size += lengths[s].size;
    } else {
      new (&seen[readers.size()]) CachedKeys(memory);
      readers.push_back({lengths[s].id, lengths[s].size, 0});
    }
  }
  const std::span<const CachedKeys> each = seen.span().first(readers.size());
  return attend_cached(ctx, {queries(ctx, x), 0}, Lengths(std::move(readers)), each, Band::none());
}

}  // namespace rapt::nn
