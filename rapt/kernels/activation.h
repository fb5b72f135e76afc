// The activations of a feed-forward layer.
//   relu(x)      = x < 0 ? 0 : x                                (so that NaN survives)
//   gelu(x)      = x Phi(x), Phi the normal distribution        (Hendrycks & Gimpel, 2016; exact)
//   gelu_tanh(x) = x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) = x (1 + tanh(...)) / 2
//   silu(x)      = x sigmoid(x)
#pragma once

namespace rapt::kernels {

enum class Activation { kNone, kRelu, kGelu, kGeluTanh, kSilu };

}  // namespace rapt::kernels
