// What all layers of a stack share.
#pragma once
#include <cstddef>

#include "rapt/kernels/activation.h"

namespace rapt {

enum class NormOrder {
  kPost,  // LayerNorm(x + SubLayer(x)), the paper's
  kPre,   // x + SubLayer(LayerNorm(x))
};

namespace nn {

struct LayerOptions {
  size_t d_model = 512, heads = 8, d_ff = 2048;
  NormOrder norm_order = NormOrder::kPost;
  float norm_eps = 1e-5f;
  kernels::Activation activation = kernels::Activation::kRelu;
  float dropout_attention = 0, dropout_activation = 0, dropout_residual = 0;
};

}  // namespace nn
}  // namespace rapt
