// Root mean square normalisation of each row (Zhang and Sennrich, 2019; docs/math/rms_norm.md).
//   y  = gamma * xhat        xhat = x * rrms        rrms = 1 / sqrt(mean(x^2) + eps)
//   dx = rrms * (g - xhat * mean(g * xhat))         where g = gamma * dy
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// Writes y and rrms, one a row. y may alias x.
void rms_norm(MatrixView<const float> x, std::span<const float> gamma, float eps,
              MatrixView<float> y, std::span<float> rrms, Pool& pool);

// Writes dx and accumulates dgamma: one partial sum per block of rows in `partial` [blocks, d], added
// in block order. dx may alias dy.
void rms_norm_backward(MatrixView<const float> x, std::span<const float> gamma,
                       std::span<const float> rrms, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> dgamma, MatrixView<float> partial,
                       Pool& pool);

}  // namespace rapt::kernels
