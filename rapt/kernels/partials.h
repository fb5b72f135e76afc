// Gradients of parameters: each block of rows sums its own into one row of `partial`, and the rows
// are added in block order, so that the number of threads changes no bit.
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// total[i] += partial[0][i], then partial[1][i], …
void add_partials(MatrixView<const float> partial, std::span<float> total, Pool& pool);

}  // namespace rapt::kernels
