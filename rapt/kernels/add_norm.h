// Residual connection, dropout and layer normalisation in one pass over the rows:
//   s = alpha * x + m * sub  m: the factors of dropout (dropout.h)
//   y = gamma * (s - mean) * rstd + beta                          (layer_norm.h)
// Backward, with ds the gradient that reaches s on other ways:
//   g = ds + layer_norm'(dy)           dx = alpha * g          dsub = m * g
#pragma once
#include "rapt/kernels/dropout.h"
#include "rapt/kernels/layer_norm.h"

namespace rapt::kernels {

// Writes s, y and stats. s may alias x or sub; y may alias any of them.
void add_norm(float alpha, MatrixView<const float> x, MatrixView<const float> sub,
              const RowDropout& dropout, std::span<const float> gamma, std::span<const float> beta,
              float eps, MatrixView<float> s, MatrixView<float> y, NormStats stats, Pool& pool);

// Without dropout and with alpha = 1 dx is the gradient of sub as well.
inline bool add_norm_shares_gradient(float alpha, const RowDropout& dropout) {
  return !dropout.on() && alpha == 1;
}

// `ds` may be empty (zero). dsub is written unless dx is the gradient of both. Accumulates dgamma and dbeta by way of `partial`, as layer_norm_backward does.
struct AddNormGradient {
  MatrixView<float> dx, dsub;
  std::span<float> dgamma, dbeta;
  MatrixView<float> partial;
};
void add_norm_backward(float alpha, MatrixView<const float> s, std::span<const float> gamma,
                       NormStats stats, MatrixView<const float> dy, MatrixView<const float> ds,
                       const RowDropout& dropout, const AddNormGradient& gradient, Pool& pool);

}  // namespace rapt::kernels
