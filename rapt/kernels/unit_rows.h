// Each head of each row scaled to length 1, times a gain of the head (docs/math/unit_rows.md):
//   y  = g u          u = x / n, n = sqrt(sum(x^2) + eps)
//   dx = (g / n) (dy - u sum(u dy))         dg = sum over rows of sum(u dy)
// The product of two such rows is the cosine of their angle times their gains.
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// x and y are [rows, heads * d], gain is [heads] or empty (then 1), inverse [rows, heads] receives
// 1 / n.
void unit_rows(MatrixView<const float> x, std::span<const float> gain, float eps,
               MatrixView<float> y, MatrixView<float> inverse, Pool& pool);

// Writes dx and accumulates dgain: one partial sum per block of rows in `partial` [blocks, heads],
// added in block order. Without a gain both are empty. dx may alias dy.
void unit_rows_backward(MatrixView<const float> x, std::span<const float> gain,
                        MatrixView<const float> inverse, MatrixView<const float> dy,
                        MatrixView<float> dx, std::span<float> dgain, MatrixView<float> partial,
                        Pool& pool);

}  // namespace rapt::kernels
