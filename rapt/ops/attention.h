// Scaled dot-product attention over the sentences of a batch (docs/math/attention.md):
//   O = dropout(softmax(cap(scale * Q K^T) + bias - slope |i - j|)) V
// of each sentence and head, over the keys that the band shows. The matrix of scores is never
// stored: forward keeps one number a query and head, the log-sum-exp.
#pragma once
#include <span>

#include "rapt/autograd/context.h"
#include "rapt/base/lengths.h"
#include "rapt/ops/dropout.h"
#include "rapt/ops/mask.h"

namespace rapt::ops {

struct AttentionArgs {
  size_t heads = 1, kv_heads = 1;  // query head h reads kv head h / (heads / kv_heads)
  size_t dim = 0, dim_v = 0;       // of a head: of Q and K, of V and the result
  float scale = 1.0f;              // 1 / sqrt(dim) in the paper
  float softcap = 0.0f;            // cap(x) = softcap tanh(x / softcap); 0: none
  Band band = Band::none();
  std::span<const float> slopes = {};  // ALiBi, one a head, or none; must outlive backward
  Dropout dropout = {};                // of the weights
  bool interleaved = false;            // cached keys, as kernels::interleave_heads() leaves them
};

// The matrix that starts at column `first` of x: q, k and v may be parts of one projection.
struct Columns {
  Var x;
  size_t first = 0;
};

// q: heads * dim columns, rows as in `queries`; k: kv_heads * dim and v: kv_heads * dim_v columns,
// rows as in `keys`, which has the same number of sequences. Result [queries.rows(), heads * dim_v].
//   bias: null, or [rows, columns], [heads, rows, columns] or [sequences, heads, rows, columns] by
//         absolute positions of query and key; minus infinity hides a key
//   sink: null, or [heads], a logit that joins each softmax without a value
// A query that sees no key gives zeros, and zero gradients. Parts of one x that do not overlap give
// one gradient of x. Throws InvalidArgument if sizes do not fit.
Var attention(Context& ctx, const Columns& q, const Columns& k, const Columns& v,
              const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
              const Var* bias = nullptr, const Var* sink = nullptr);

// The weights that attention() would use, before dropout and with the same bits, as
// [heads, sum over sequences of queries x keys]: of each head the matrices of the sequences, row by
// row. Nothing is recorded.
Tensor attention_weights(Context& ctx, const Columns& q, const Columns& k, const Lengths& queries,
                         const Lengths& keys, const AttentionArgs& args, const Var* bias = nullptr,
                         const Var* sink = nullptr);

// The keys and values of one sequence, where a cache has them.
struct CachedKeys {
  MatrixView<const float> k, v;    // rows of kv_heads * dim and of kv_heads * dim_v columns
  std::span<const int32_t> slots;  // rows by position, `size` of them; empty: rows 0, 1, …
  uint32_t size = 0;
  uint32_t position = 0;  // of the first: more than 0 when a window dropped the ones before
};

// Inference: sequence s of `queries` against keys[s]. The row strides of all k are equal, and those
// of all v. The bits are those of attention() over the whole sentence.
Tensor attention_cached(Context& ctx, const Columns& q, const Lengths& queries,
                        std::span<const CachedKeys> keys, const AttentionArgs& args,
                        const Tensor* bias = nullptr, const Tensor* sink = nullptr);

// The same for the weights, laid out as those of attention_weights().
Tensor attention_weights_cached(Context& ctx, const Columns& q, const Lengths& queries,
                                std::span<const CachedKeys> keys, const AttentionArgs& args,
                                const Tensor* bias = nullptr, const Tensor* sink = nullptr);

// The same with scores that are given, as ops/score.h computes them, in place of q and k: row r of
// head h of `scores` [heads, queries.rows(), columns] has the scores of query r and its sentence's
// keys in order, columns >= keys.longest(). args.scale and args.softcap are not read, nor is k of
// the cache.
Var attention_of_scores(Context& ctx, const Var& scores, const Columns& v, const Lengths& queries,
                        const Lengths& keys, const AttentionArgs& args, const Var* sink = nullptr);
Tensor attention_of_scores_cached(Context& ctx, const Tensor& scores, const Lengths& queries,
                                  std::span<const CachedKeys> keys, const AttentionArgs& args,
                                  const Tensor* sink = nullptr);
Tensor weights_of_scores(Context& ctx, const Tensor& scores, const Lengths& queries,
                         const Lengths& keys, const AttentionArgs& args, const Var* sink = nullptr);
Tensor weights_of_scores_cached(Context& ctx, const Tensor& scores, const Lengths& queries,
                                std::span<const CachedKeys> keys, const AttentionArgs& args,
                                const Tensor* sink = nullptr);

}  // namespace rapt::ops
