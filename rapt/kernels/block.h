// Rectangles of matrices: what gathers and scatters the parts of a tensor.
#pragma once
#include <cassert>

#include "rapt/base/matrix_view.h"

namespace rapt::kernels {

// to = from, element by element; of one shape, without overlap.
inline void copy_block(MatrixView<const float> from, MatrixView<float> to) {
  assert(from.rows() == to.rows() && from.cols() == to.cols());
  for (size_t r = 0; r < from.rows(); ++r) {
    for (size_t c = 0; c < from.cols(); ++c) to.row(r)[c] = from.row(r)[c];
  }
}

// to += from
inline void add_block(MatrixView<const float> from, MatrixView<float> to) {
  assert(from.rows() == to.rows() && from.cols() == to.cols());
  for (size_t r = 0; r < from.rows(); ++r) {
    for (size_t c = 0; c < from.cols(); ++c) to.row(r)[c] += from.row(r)[c];
  }
}

}  // namespace rapt::kernels
