// Layers without normalisation, x + Attention(x) and x + FFN(x) in turn, as they are drawn: to see
// which parts of a Transformer are linear maps. Attention runs whole, or with weights that are held:
//   held(y) = W_out (A_h V_h(y) side by side)      A_h the weights that another sentence had
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "rapt/nn/feed_forward.h"
#include "rapt/nn/multi_head_attention.h"

namespace rapt::insight {

class PlainStack {
 public:
  PlainStack(const nn::LayerOptions& options, size_t layers, uint64_t seed, Pool& pool);

  // Of layer i alone, without the x that is added; x [positions, d_model] is one sentence.
  Tensor attention(size_t i, const Tensor& x) const;
  Tensor feed_forward(size_t i, const Tensor& x) const;
  // [heads, positions x positions], and attention with them, computed in double.
  Tensor weights(size_t i, const Tensor& x) const;
  Tensor attention_held(size_t i, const Tensor& x, const Tensor& weights) const;

  // Through all layers.
  Tensor run(const Tensor& x) const;
  std::vector<Tensor> weights(const Tensor& x) const;
  Tensor run_held(const Tensor& x, std::span<const Tensor> weights) const;

  // "layers.0.linear1.weight"
  const Tensor& parameter(const std::string& name) const { return parameters_.find(name)->value; }

 private:
  struct Layer {
    nn::MultiHeadAttention attention;
    nn::FeedForward feed_forward;
  };
  // x through all layers; attend(i, x) is what layer i's attention gives.
  template <class Attend>
  Tensor through(const Tensor& x, const Attend& attend) const;

  nn::LayerOptions options_;
  ParameterSet parameters_;
  std::vector<Layer> layers_;
  Pool& pool_;
};

// x + y, elements.
Tensor sum(const Tensor& x, const Tensor& y);

// x [rows, in] times weight^T [in, out] plus bias, in double; of the weight the rows from `first`.
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias, size_t first, size_t out);

}  // namespace rapt::insight
