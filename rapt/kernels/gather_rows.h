// Rows of a table by their index, and back.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/kernels/dropout.h"

namespace rapt::kernels {

// y[r] = table[index[r]]
void gather_rows(MatrixView<const float> table, std::span<const int32_t> index, MatrixView<float> y,
                 Pool& pool);

// table[index[r]] += scale * m * dy[r], m: the factors of dropout. Each row of the table adds its
// terms in the order of r, for any number of threads: no two tasks share a row.
void scatter_add_rows(MatrixView<const float> dy, std::span<const int32_t> index, float scale,
                      const RowDropout& dropout, MatrixView<float> table, Pool& pool);

}  // namespace rapt::kernels
