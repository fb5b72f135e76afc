// Rows by index, and their gradient added in order of the rows that asked for them.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>

#include "rapt/base/matrix_view.h"

namespace rapt::kernels {

// As scatter_add_rows without dropout, in float: the order that its bits come from.
inline void scatter_add_rows_ref(MatrixView<const float> dy, std::span<const int32_t> index,
                                 float scale, MatrixView<float> table) {
  for (size_t r = 0; r < index.size(); ++r) {
    const std::span<float> to = table.row(static_cast<size_t>(index[r]));
    for (size_t c = 0; c < to.size(); ++c) to[c] = std::fma(dy.row(r)[c], scale, to[c]);
  }
}

}  // namespace rapt::kernels
