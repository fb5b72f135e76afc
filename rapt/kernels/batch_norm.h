// Normalisation of each column over the rows of a batch (Ioffe and Szegedy, 2015; derivation in
// docs/math/batch_norm.md).
//   y  = gamma * xhat + beta          xhat = (x - mean) * rstd          rstd = 1 / sqrt(var + eps)
//   dx = gamma * rstd * (dy - mean(dy) - xhat * mean(dy * xhat))        means over the rows
// Where mean and var do not come from x, as in evaluation, dx = gamma * rstd * dy.
//
// Sums over rows: one partial sum per block of rows, added in block order, so that the number of
// threads changes no bit.
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// mean and var (divided by the number of rows, at least one) of each column, in two passes.
// `partial` is [blocks, d].
void column_moments(MatrixView<const float> x, std::span<float> mean, std::span<float> var,
                    MatrixView<float> partial, Pool& pool);

struct ColumnStats {
  std::span<const float> mean, rstd;  // one a column
};
void reciprocal_deviation(std::span<const float> var, float eps, std::span<float> rstd);

// y may alias x.
void batch_norm(MatrixView<const float> x, const ColumnStats& stats, std::span<const float> gamma,
                std::span<const float> beta, MatrixView<float> y, Pool& pool);

// Writes dx, accumulates dgamma and dbeta. `of_batch`: the statistics are those of x. `partial` is
// [blocks, 2 d], `sums` [2 d]. dx may alias dy.
struct BatchNormGradient {
  MatrixView<float> dx;
  std::span<float> dgamma, dbeta;
  MatrixView<float> partial;
  std::span<float> sums;
};
void batch_norm_backward(MatrixView<const float> x, const ColumnStats& stats, bool of_batch,
                         std::span<const float> gamma, MatrixView<const float> dy,
                         const BatchNormGradient& gradient, Pool& pool);

// average = (1 - momentum) * average + momentum * factor * value
void move_average(std::span<float> average, float momentum, float factor,
                  std::span<const float> value);

}  // namespace rapt::kernels
