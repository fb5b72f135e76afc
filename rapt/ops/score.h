// Attention for any score f of queries and keys (docs/math/score.md):
//   O = dropout(softmax(cap(f(Q, K)) + bias - slope |i - j|)) V
// What attention.h says of masks, biases, sinks, dropout, groups of heads and rows without keys holds
// for every f.
//
//   const Score laplace([](Context& ctx, const Var& q, const Var& k, size_t head) { … });
//   attention(ctx, laplace, {q}, {k}, {v}, queries, keys, args);
#pragma once
#include <functional>

#include "rapt/ops/heads.h"

namespace rapt::ops {

class Score {
 public:
  // One head of one sentence: q [n, args.dim] and k [m, args.dim], neither empty, give scores [n, m].
  // Made of operations, so that the tape knows its gradients. The bits of a row of scores must not
  // depend on the others, or decoding step by step differs from decoding at once.
  using OfHead = std::function<Var(Context&, const Var& q, const Var& k, size_t head)>;
  // All heads and sentences at once: a table of scores (heads.h).
  using OfAll = std::function<Var(Context&, const Heads& q, const Heads& k)>;

  // args.scale * q . k, which the kernel of attention computes tile by tile.
  static Score product() { return Score(); }
  explicit Score(OfHead f);
  // v_h . tanh(q + k)
  static Score additive(const Var& v);

  bool is_product() const { return of_all_ == nullptr; }
  Var table(Context& ctx, const Heads& q, const Heads& k) const { return of_all_(ctx, q, k); }

 private:
  Score() = default;
  OfAll of_all_;
};

Var attention(Context& ctx, const Score& f, const Columns& q, const Columns& k, const Columns& v,
              const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
              const Var* bias = nullptr, const Var* sink = nullptr);
Tensor attention_weights(Context& ctx, const Score& f, const Columns& q, const Columns& k,
                         const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
                         const Var* bias = nullptr, const Var* sink = nullptr);
Tensor attention_cached(Context& ctx, const Score& f, const Columns& q, const Lengths& queries,
                        std::span<const CachedKeys> keys, const AttentionArgs& args,
                        const Tensor* bias = nullptr, const Tensor* sink = nullptr);
Tensor attention_weights_cached(Context& ctx, const Score& f, const Columns& q,
                                const Lengths& queries, std::span<const CachedKeys> keys,
                                const AttentionArgs& args, const Tensor* bias = nullptr,
                                const Tensor* sink = nullptr);

}  // namespace rapt::ops
