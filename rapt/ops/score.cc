#include "rapt/ops/score.h"

#include "rapt/ops/additive_score.h"
#include "rapt/ops/score_table.h"
#include "rapt/ops/tanh.h"

namespace rapt::ops {
namespace {

// The table of cap(f(q, k)) + bias.
Var scores(Context& ctx, const Score& f, const Heads& q, const Heads& k, const AttentionArgs& args,
           const Var* bias) {
  check(k.count > 0 && q.count % k.count == 0, "attention: heads is ", q.count,
        ", not a multiple of kv_heads = ", k.count);
  check(q.rows.sequences() == k.rows.sequences(), "attention: ", q.rows.sequences(),
        " sequences of queries and ", k.rows.sequences(), " of keys");
  q.check_fits("attention", "q");
  k.check_fits("attention", "k");
  Var table = f.table(ctx, q, k);
  if (args.softcap != 0) table = tanh(ctx, table, args.softcap);
  if (bias != nullptr) table = add_bias(ctx, table, *bias, q.count, q.rows, k.rows);
  return table;
}

Heads query_heads(const Columns& q, const Lengths& queries, const AttentionArgs& args) {
  return {q, queries, args.heads, args.dim};
}

// The keys of all sequences, one after another, out of the cache.
Heads cached_heads(Context& ctx, std::span<const CachedKeys> keys, const Lengths& queries,
                   const AttentionArgs& args) {
  check(queries.sequences() == keys.size(), "attention: ", queries.sequences(),
        " sequences of queries and ", keys.size(), " of keys");
  std::vector<Sequence> sequences;
  for (size_t s = 0; s < keys.size(); ++s) {
    sequences.push_back({queries[s].id, keys[s].size, keys[s].position});
  }
  const Lengths rows(std::move(sequences));
  const Tensor k = ctx.empty({rows.rows(), args.kv_heads * args.dim});
  for (size_t s = 0; s < keys.size(); ++s) {
    const std::span<const int32_t> slots = keys[s].slots;
    check(keys[s].k.cols() == k.cols(), "attention: cached keys have ", keys[s].k.cols(),
          " columns, expected ", k.cols());
    for (size_t j = 0; j < keys[s].size; ++j) {
      const size_t from = slots.empty() ? j : static_cast<size_t>(slots[j]);
      const size_t to = rows.offset(s) + j;
      kernels::copy_block(keys[s].k.slice_rows(from, from + 1), k.matrix().slice_rows(to, to + 1));
    }
  }
  return {{k}, rows, args.kv_heads, args.dim};
}

Tensor cached_scores(Context& ctx, const Score& f, const Columns& q, const Lengths& queries,
                     std::span<const CachedKeys> keys, const AttentionArgs& args,
                     const Tensor* bias) {
  const Var b = bias == nullptr ? Var() : Var(*bias);
  return scores(ctx, f, query_heads(q, queries, args), cached_heads(ctx, keys, queries, args), args,
                bias == nullptr ? nullptr : &b)
      .value();
}

}  // namespace

Score::Score(OfHead f)
    : of_all_([f = std::move(f)](Context& ctx, const Heads& q, const Heads& k) {
        std::vector<Var> parts;
        for (size_t i = 0; i < q.rows.sequences() * q.count; ++i) {
          const size_t s = i / q.count, h = i % q.count;
          if (q.rows[s].size == 0 || k.rows[s].size == 0) {
            parts.push_back(ctx.empty({q.rows[s].size, k.rows[s].size}));
            continue;
          }
          const Var keys = head_rows(ctx, k, s, h / (q.count / k.count));
          parts.push_back(f(ctx, head_rows(ctx, q, s, h), keys, h));
        }
        return score_table(ctx, parts, q.count, q.rows, k.rows);
      }) {}

Score Score::additive(const Var& v) {
  Score score;
  score.of_all_ = [v](Context& ctx, const Heads& q, const Heads& k) {
    return additive_score(ctx, q, k, v);
  };
  return score;
}

Var attention(Context& ctx, const Score& f, const Columns& q, const Columns& k, const Columns& v,
              const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
              const Var* bias, const Var* sink) {
  if (f.is_product()) return attention(ctx, q, k, v, queries, keys, args, bias, sink);
  const Heads k_heads{k, keys, args.kv_heads, args.dim};
  const Var table = scores(ctx, f, query_heads(q, queries, args), k_heads, args, bias);
  return attention_of_scores(ctx, table, v, queries, keys, args, sink);
}

Tensor attention_weights(Context& ctx, const Score& f, const Columns& q, const Columns& k,
                         const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
                         const Var* bias, const Var* sink) {
  if (f.is_product()) return attention_weights(ctx, q, k, queries, keys, args, bias, sink);
  const Heads k_heads{k, keys, args.kv_heads, args.dim};
  const Var table = scores(ctx, f, query_heads(q, queries, args), k_heads, args, bias);
  return weights_of_scores(ctx, table.value(), queries, keys, args, sink);
}

Tensor attention_cached(Context& ctx, const Score& f, const Columns& q, const Lengths& queries,
                        std::span<const CachedKeys> keys, const AttentionArgs& args,
                        const Tensor* bias, const Tensor* sink) {
  if (f.is_product()) return attention_cached(ctx, q, queries, keys, args, bias, sink);
  const Tensor table = cached_scores(ctx, f, q, queries, keys, args, bias);
  return attention_of_scores_cached(ctx, table, queries, keys, args, sink);
}

Tensor attention_weights_cached(Context& ctx, const Score& f, const Columns& q,
                                const Lengths& queries, std::span<const CachedKeys> keys,
                                const AttentionArgs& args, const Tensor* bias, const Tensor* sink) {
  if (f.is_product()) return attention_weights_cached(ctx, q, queries, keys, args, bias, sink);
  const Tensor table = cached_scores(ctx, f, q, queries, keys, args, bias);
  return weights_of_scores_cached(ctx, table, queries, keys, args, sink);
}

}  // namespace rapt::ops
