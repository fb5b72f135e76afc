// One layer of a decoder that reads an encoder's output, the memory.
//   a = AddNorm(x, SelfAttention(x))        causal
//   b = AddNorm(a, CrossAttention(a, memory))
//   y = AddNorm(b, FeedForward(b))
// Parameters and dropout sites are named as in torch.nn.TransformerDecoderLayer: self_attn.*,
// multihead_attn.*, linear1.*, linear2.*, norm1.* to norm3.*; self_attn.dropout,
// multihead_attn.dropout, dropout, dropout1 to dropout3.
#pragma once
#include "rapt/nn/add_norm.h"
#include "rapt/nn/multi_head_attention.h"
#include "rapt/nn/position_wise.h"

namespace rapt::nn {

class DecoderLayer : public Module {
 public:
  DecoderLayer(const Scope& scope, const LayerOptions& options);

  Var operator()(Context& ctx, const Var& x, const Lengths& targets, const Var& memory,
                 const Lengths& sources) const;

  // Inference. The keys and values that cross attention reads, computed once a sentence.
  Var memory_keys_values(Context& ctx, const Var& memory) const {
    return cross_attention_.keys_values(ctx, memory);
  }
  // Rows of `lengths` join the cache and see all that came before them; sequence s reads memory(s).
  Var step(Context& ctx, const Var& x, const Lengths& lengths, const LayerCache& cache,
           const MemoryRows& memory) const;

 private:
  template <class SelfAttention, class CrossAttention>
  Var run(Context& ctx, const Var& x, const Lengths& targets, const SelfAttention& self,
          const CrossAttention& cross) const;

  MultiHeadAttention self_attention_;
  AddNorm self_attention_norm_;
  MultiHeadAttention cross_attention_;
  AddNorm cross_attention_norm_;
  PositionWise feed_forward_;
  AddNorm feed_forward_norm_;
};

}  // namespace rapt::nn
