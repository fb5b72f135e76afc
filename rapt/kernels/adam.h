// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019) with the formulas of PyTorch,
// clipping, gradient reset and a moving average of the parameters, in one pass over their memory.
// At step t = 1, 2, …, for every element:
//   g <- grad_scale * g
//   decoupled:  p <- p - lr * weight_decay * p         else:  g <- g + weight_decay * p
//   m <- m + (1 - beta1) (g - m)
//   v <- beta2 v + (1 - beta2) g^2
//   p <- p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
//   ema <- ema + (1 - ema_decay) (p - ema)
//   gradient <- 0
// Element by element: the bits depend neither on threads nor on the target, if it has FMA.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/parallel/pool.h"

namespace rapt::kernels {

struct AdamArgs {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = true;  // AdamW
  double grad_scale = 1;  // of clipping, and of whatever the gradient is still to be divided by
  double ema_decay = 0;
  uint64_t step = 1;  // t
};

struct AdamTensors {
  std::span<float> p, gradient, m, v;
  std::span<float> ema = {};  // or none
};

void adam(const AdamArgs& args, const AdamTensors& tensors, Pool& pool);

}  // namespace rapt::kernels
