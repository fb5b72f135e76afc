// Multi-head attention (Vaswani et al., 2017, section 3.2.2), as torch.nn.MultiheadAttention:
//   q, k, v = the three parts of x W^T + b          W = in_proj_weight: heads d_k rows for q,
//                                                   kv_heads d_k for k, kv_heads d_v for v
//   head h  = softmax(f(q_h, k_g)) v_g              columns h d_k … of q, g d_k … of k, g d_v … of v
//   y       = (heads side by side) W_out^T + b_out  W_out [E, heads d_v]
// f is q_h k_g^T / sqrt(d_k) in the paper and in PyTorch, or another score of nn/score.h. d_k and d_v
// are E / heads there, and free here; g is h there, and here groups of query heads may share keys and
// values (Ainslie et al., 2023). In self-attention one product gives q, k and v. In cross attention
// the rows of W that give q act on the target and the others on the memory. Dropout of the weights:
// site "dropout".
//
// Options of self-attention: a window hides keys that are far from the query; ALiBi takes
// slope |i - j| off the scores; rotary positions turn q and k, and a cache holds the turned keys.
// With a sink (Xiao et al., 2023) the parameter "sink" [heads] holds a logit that joins each softmax
// without a value; it starts at 0.
//
// An observed context is shown the weights before dropout as "<name>.weights", for example
// "decoder.layers.1.multihead_attn.weights", a tensor [heads, sum over sentences of queries x keys]:
// of each head the matrices [queries, keys] of the sentences, one after another.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rapt/nn/layer_options.h"
#include "rapt/nn/linear.h"
#include "rapt/nn/score.h"
#include "rapt/parallel/pool.h"

namespace rapt::nn {

// What self-attention of one layer writes and reads in a step of decoding.
struct LayerCache {
  Tensor keys, values;                             // [slots, kv_heads d_k], [slots, kv_heads d_v]
  std::span<const int32_t> written;                // the slot of each row of the step
  std::span<const std::span<const int32_t>> read;  // of each sequence its slots by position
};

// What keys_values() gave for the sentence that sequence s reads.
using MemoryRows = FunctionRef<MatrixView<const float>(size_t s)>;

class MultiHeadAttention : public Module {
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
  // Inference: keys, as cross attention reads them, and values of the memory side by side …
  Var keys_values(Context& ctx, const Var& memory) const;
  // … and queries that read them: sequence s reads keys_values(s).
  Var step(Context& ctx, const Var& x, const Lengths& lengths, const MemoryRows& keys_values) const;

 private:
  // q, k and v of self-attention side by side, at their positions.
  Var project_self(Context& ctx, const Var& x, const Lengths& sentences) const;
  Var queries(Context& ctx, const Var& x) const;
  Var project_memory(Context& ctx, const Var& memory) const;
  // Rows of in_proj_weight, which are columns of the projection: of the first key, of the first
  // value, the number of all.
  size_t keys() const { return heads_ * d_k_; }
  size_t values() const { return keys() + kv_heads_ * d_k_; }
  size_t end() const { return values() + kv_heads_ * d_v_; }
  // Keys of x, as the score wants them, to rows of a cache: 0, 1, … without `rows`.
  void cache_keys(const ops::Columns& keys, std::span<const int32_t> rows,
                  MatrixView<float> cache) const;
  // Where keys_values() starts: packed weights come in panels, and this is that of the first key.
  size_t first_column() const {
    return keys() / kernels::PackedB::kWidth * kernels::PackedB::kWidth;
  }
  ops::AttentionArgs args(ops::Band band) const;
  Var attend(Context& ctx, const ops::Columns& q, const ops::Columns& k, const ops::Columns& v,
             const Lengths& queries, const Lengths& keys, ops::Band band) const;
  Var attend_cached(Context& ctx, const ops::Columns& q, const Lengths& queries,
                    std::span<const ops::CachedKeys> keys, ops::Band band) const;

  size_t heads_, kv_heads_, d_k_, d_v_;
  Dropout dropout_;
  std::optional<uint32_t> window_;
  std::vector<float> slopes_;  // of ALiBi, or none
  RotaryPositions rotary_;     // or none
  std::string weights_name_;   // to observers
  const Weight& in_proj_weight_;
  const Parameter& in_proj_bias_;
  Score score_;
  const Parameter* sink_;  // or null
  Linear out_proj_;
  bool interleaved_;  // keys in caches
};

}  // namespace rapt::nn
