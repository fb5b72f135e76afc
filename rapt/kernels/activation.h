// The activations of a feed-forward layer.
//   relu(x)      = x < 0 ? 0 : x                                (so that NaN survives)
//   gelu(x)      = x Phi(x), Phi the normal distribution        (Hendrycks & Gimpel, 2016; exact)
//   gelu_tanh(x) = x sigmoid(w), w = 2 sqrt(2 / pi) (x + 0.044715 x^3)
//   silu(x)      = x sigmoid(x)
//   sigmoid(x)   = 1 / (1 + e^-x)                               the gate of the first GLU
// and their derivatives
//   relu'      = y > 0 ? 1 : 0, from the output y
//   gelu'      = Phi(x) + x phi(x)                              phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
//   gelu_tanh' = s + x s (1 - s) w'                             s = sigmoid(w)
//   silu'      = s + x s (1 - s)                                s = sigmoid(x)
//   sigmoid'   = s (1 - s)
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/base/options.h"
#include "rapt/parallel/pool.h"

namespace rapt {
namespace kernels {

enum class Activation { kNone, kRelu, kGelu, kGeluTanh, kSilu, kSigmoid };

// What the backward pass of an activation needs: its output or its input.
enum class Saved { kNothing, kOutput, kInput };
constexpr Saved saved_for(Activation activation) {
  if (activation == Activation::kNone) return Saved::kNothing;
  return activation == Activation::kRelu ? Saved::kOutput : Saved::kInput;
}

// dx = dy * act'(x), and the gradient of a bias that was added before the activation:
//   dbias += sum over rows of dx
// one partial sum per block of kRowBlock rows in `partial` [blocks, d], rows in order from 0, added
// in block order. `saved` is what saved_for() names. dx may be dy, and for kNone it is neither read
// nor written. Without a bias, partial and dbias are empty.
void activation_backward(Activation activation, MatrixView<const float> saved,
                         MatrixView<const float> dy, MatrixView<float> dx,
                         MatrixView<float> partial, std::span<float> dbias, Pool& pool);

}  // namespace kernels

template <>
inline constexpr auto kNames<kernels::Activation> =
    names<kernels::Activation>({{kernels::Activation::kRelu, "relu"},
                                {kernels::Activation::kGelu, "gelu"},
                                {kernels::Activation::kGeluTanh, "gelu_tanh"},
                                {kernels::Activation::kSilu, "silu"},
                                {kernels::Activation::kSigmoid, "sigmoid"},
                                {kernels::Activation::kNone, "none"}});

}  // namespace rapt
