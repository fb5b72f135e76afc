// One layer of an encoder; with a causal band, one of a decoder-only model.
//   a = AddNorm(x, SelfAttention(x))        y = AddNorm(a, FeedForward(a))
// Parameters and dropout sites are named as in torch.nn.TransformerEncoderLayer: self_attn.*,
// linear1.*, linear2.*, norm1.*, norm2.*; self_attn.dropout, dropout, dropout1, dropout2.
#pragma once
#include "rapt/nn/add_norm.h"
#include "rapt/nn/multi_head_attention.h"
#include "rapt/nn/position_wise.h"

namespace rapt::nn {

class EncoderLayer : public Module {
 public:
  EncoderLayer(const Scope& scope, const LayerOptions& options);

  Var operator()(Context& ctx, const Var& x, const Lengths& sentences, ops::Band band) const;
  // Inference, decoder-only: rows of `lengths` join the cache and see all that came before them.
  Var step(Context& ctx, const Var& x, const Lengths& lengths, const LayerCache& cache) const;

 private:
  template <class Attention>
  Var run(Context& ctx, const Var& x, const Lengths& lengths, const Attention& attention) const;

  MultiHeadAttention self_attention_;
  AddNorm attention_norm_;
  PositionWise feed_forward_;
  AddNorm feed_forward_norm_;
};

}  // namespace rapt::nn
