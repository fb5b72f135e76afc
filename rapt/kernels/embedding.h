// Embeddings of tokens with their positions and dropout, one row a token:
//   y[r] = m * (scale * table[id[r]] + positions[position[r]])     m: the factors of dropout
// The gradient of the table is scatter_add_rows (gather_rows.h) with `scale`, that of the positions
// the same with 1.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/kernels/dropout.h"

namespace rapt::kernels {

struct Embedding {
  MatrixView<const float> table;
  std::span<const int32_t> ids;
  float scale = 1.0f;
  MatrixView<const float> positions = {};  // none: no rows
  std::span<const int32_t> position = {};
};

void embedding(const Embedding& e, const RowDropout& dropout, MatrixView<float> y, Pool& pool);

}  // namespace rapt::kernels
