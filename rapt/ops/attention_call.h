// What the kernel of attention is given, made of what the operations are given: checks, pointers and
// strides. Used by the operations of attention alone.
#pragma once
#include "rapt/kernels/attention.h"
#include "rapt/ops/attention.h"

namespace rapt::ops {

// Kept for the backward pass.
struct AttentionCall {
  kernels::Attention a;
  Buffer<kernels::AttentionSequence> sequences;
  Buffer<uint32_t> plan;
};

// The bias as a matrix for each head and sequence: by absolute positions, or, where `scores_of` gives
// the rows, a table of scores [heads, rows, columns] as attention_of_scores() takes it.
class BiasTable {
 public:
  BiasTable(const Tensor& bias, const AttentionCall& call, const Lengths* scores_of);
  kernels::HeadStride strides() const { return strides_; }
  // The element (0, 0), by absolute positions, of sequence s.
  float* of(const Tensor& bias, const kernels::AttentionSequence& sequence, size_t s) const;

 private:
  kernels::HeadStride strides_;
  size_t sequence_ = 0;
  const Lengths* scores_of_;
};

// v is null where the weights alone are wanted.
AttentionCall make_call(const Context& ctx, const Columns& q, const Columns& k, const Columns* v,
                        const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
                        const Var* bias, const Var* sink);
AttentionCall make_cached_call(const Context& ctx, const Columns& q, const Lengths& queries,
                               std::span<const CachedKeys> keys, const AttentionArgs& args,
                               const Tensor* bias, const Tensor* sink);

// Scores in place of queries and keys: to the kernel they are a bias of products of no terms.
AttentionCall make_scores_call(const Context& ctx, const Tensor& scores, const Columns* v,
                               const Lengths& queries, const Lengths& keys,
                               const AttentionArgs& args, const Var* sink);
AttentionCall make_cached_scores_call(const Context& ctx, const Tensor& scores,
                                      const Lengths& queries, std::span<const CachedKeys> keys,
                                      const AttentionArgs& args, const Tensor* sink);

}  // namespace rapt::ops
