// Dropout of a matrix by the scalar definition of its bits.
#pragma once
#include <vector>

#include "rapt/kernels/dropout.h"

namespace rapt::kernels {

// The factors m of the rows of `dropout`, d to a row.
inline std::vector<double> dropout_factors_ref(const RowDropout& dropout, size_t rows, size_t d) {
  std::vector<double> m(rows * d, 1.0);
  for (size_t i = 0; dropout.on() && i < m.size(); ++i) {
    const int16_t draw =
        draw16(dropout.key, dropout.rows->key(i / d), static_cast<uint32_t>(i % d));
    m[i] = dropout.rate.keeps(draw) ? dropout.rate.scale() : 0.0;
  }
  return m;
}

}  // namespace rapt::kernels
