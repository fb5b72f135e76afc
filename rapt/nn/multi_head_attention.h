// Multi-head attention (Vaswani et al., 2017, section 3.2.2), as torch.nn.MultiheadAttention:
//   q, k, v = the three parts of x W^T + b            W = in_proj_weight [3 E, E]
//   head h  = softmax(q_h k_h^T / sqrt(D)) v_h        columns h D … (h + 1) D, D = E / heads
//   y       = (heads side by side) W_out^T + b_out
// In self-attention one product gives q, k and v. In cross attention the first E rows of W act on
// the target and the other 2 E on the memory. Dropout of the weights: site "dropout".
//
// An observed context is shown the weights before dropout as "<name>.weights", for example
// "decoder.layers.1.multihead_attn.weights", a tensor [heads, sum over sentences of queries x keys]:
// of each head the matrices [queries, keys] of the sentences, one after another.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "rapt/nn/layer_options.h"
#include "rapt/nn/linear.h"
#include "rapt/ops/attention.h"
#include "rapt/parallel/pool.h"

namespace rapt::nn {

// What self-attention of one layer writes and reads in a step of decoding.
struct LayerCache {
  Tensor keys, values;                             // [slots, E]
  std::span<const int32_t> written;                // the slot of each row of the step
  std::span<const std::span<const int32_t>> read;  // of each sequence its slots by position
};

// What keys_values() gave for the sentence that sequence s reads.
using MemoryRows = FunctionRef<MatrixView<const float>(size_t s)>;

class MultiHeadAttention {
 public:
  MultiHeadAttention(const Scope& scope, const LayerOptions& options);

  // Self-attention: x [rows, E] of `sentences`.
  Var operator()(Context& ctx, const Var& x, const Lengths& sentences, ops::Band band) const;
  // Cross attention: target sentence s reads all of source sentence s, rows of `memory`.
  Var operator()(Context& ctx, const Var& x, const Lengths& targets, const Var& memory,
                 const Lengths& sources) const;

  // Inference, causal: keys and values of x's rows join the cache, then queries see all that came
  // before them.
  Var step(Context& ctx, const Var& x, const Lengths& lengths, const LayerCache& cache) const;
  // Inference: keys and values of the memory side by side, [rows, first_key() + 2 E] …
  Var keys_values(Context& ctx, const Var& memory) const;
  // … and queries that read them: sequence s reads keys_values(s).
  Var step(Context& ctx, const Var& x, const Lengths& lengths, const MemoryRows& keys_values) const;

 private:
  Var queries(Context& ctx, const Var& x) const;
  size_t first_key() const { return d_model_ % kernels::PackedB::kWidth; }
  ops::AttentionArgs args(ops::Band band) const;
  Var attend(Context& ctx, const ops::Columns& q, const ops::Columns& k, const ops::Columns& v,
             const Lengths& queries, const Lengths& keys, ops::Band band) const;
  Var attend_cached(Context& ctx, const Var& q, const Lengths& queries,
                    std::span<const ops::CachedKeys> keys, ops::Band band) const;

  size_t d_model_, heads_;
  Dropout dropout_;
  std::string weights_name_;  // to observers
  const Weight& in_proj_weight_;
  const Parameter& in_proj_bias_;
  Linear out_proj_;
};

}  // namespace rapt::nn
