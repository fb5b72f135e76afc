// Cross-entropy of rows of logits z against one class t a row, with label smoothing
// (Szegedy et al., 2016; derivation in docs/math/linear_cross_entropy.md).
//   lse  = log sum exp z     nll = lse - z[t]
//   loss = (1 - e) nll + u sum over classes of (lse - z)
//   dz   = softmax(z) - u - (1 - e) [class is t]      as 1 - e + u V is 1
#pragma once
#include <cstdint>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

struct SmoothingWeights {
  float e = 0, u = 0;  // with 1 - e + u V = 1
};

struct RowLosses {
  std::span<double> smoothed, nll;  // one a row
};

// Writes the losses. With `gradient`, z becomes dz.
void cross_entropy(MatrixView<float> z, std::span<const int32_t> targets, SmoothingWeights weights,
                   bool gradient, RowLosses losses, Pool& pool);

// The sum of one number a row: of each block of kRowBlock rows in order, then of the blocks.
double sum_of_rows(std::span<const double> values);

// y += factor * x
void add_scaled(float factor, std::span<const float> x, std::span<float> y, Pool& pool);

}  // namespace rapt::kernels
