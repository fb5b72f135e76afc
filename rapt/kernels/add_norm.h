// Residual connection, dropout and layer normalisation in one pass over the rows:
//   s = x + m * sub          m: the factors of dropout (dropout.h)
//   y = gamma * (s - mean) * rstd + beta                          (layer_norm.h)
// Backward, with ds the gradient that reaches s on other ways:
//   dx = ds + layer_norm'(dy)          dsub = m * dx
#pragma once
#include "rapt/kernels/dropout.h"
#include "rapt/kernels/layer_norm.h"

namespace rapt::kernels {

// Writes s, y and stats. s may alias x or sub; y may alias any of them.
void add_norm(MatrixView<const float> x, MatrixView<const float> sub, const RowDropout& dropout,
              std::span<const float> gamma, std::span<const float> beta, float eps,
              MatrixView<float> s, MatrixView<float> y, NormStats stats, Pool& pool);

// `ds` may be empty (zero). dsub is written if dropout is on; else dx is its gradient as well.
// Accumulates dgamma and dbeta by way of `partial`, as layer_norm_backward does.
struct AddNormGradient {
  MatrixView<float> dx, dsub;
  std::span<float> dgamma, dbeta;
  MatrixView<float> partial;
};
void add_norm_backward(MatrixView<const float> s, std::span<const float> gamma, NormStats stats,
                       MatrixView<const float> dy, MatrixView<const float> ds,
                       const RowDropout& dropout, const AddNormGradient& gradient, Pool& pool);

}  // namespace rapt::kernels
