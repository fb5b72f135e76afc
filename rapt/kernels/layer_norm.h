// Layer normalisation of each row (Ba et al., 2016; derivation in docs/math/layer_norm.md).
//   y  = gamma * xhat + beta        xhat = (x - mean) * rstd        rstd = 1 / sqrt(var + eps)
//   dx = rstd * (g - mean(g) - xhat * mean(g * xhat))   where g = gamma * dy, means over the row
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

struct NormStats {
  std::span<float> mean, rstd;  // one per row: written by forward, read by backward
};

// Writes y and stats. y may alias x.
void layer_norm(MatrixView<const float> x, std::span<const float> gamma,
                std::span<const float> beta, float eps, MatrixView<float> y, NormStats stats,
                Pool& pool);

// Writes dx (the tape does the adding). Accumulates dgamma and dbeta, since parameters are shared:
// one partial sum per block of rows in `partial` [blocks, 2 d], added in block order, so that the
// number of threads changes no bit. dx may alias dy.
void layer_norm_backward(MatrixView<const float> x, std::span<const float> gamma, NormStats stats,
                         MatrixView<const float> dy, MatrixView<float> dx, std::span<float> dgamma,
                         std::span<float> dbeta, MatrixView<float> partial, Pool& pool);

}  // namespace rapt::kernels
