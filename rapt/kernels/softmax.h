// Softmax of each row and its logarithm.
//   softmax      y = e^(x - max) / sum(e^(x - max))        dx = y * (dy - sum(y * dy))
//   log_softmax  y = (x - max) - log(sum(e^(x - max)))     dx = dy - e^y * sum(dy)
// A row has the same bits in any batch. One that is -infinity throughout, with everything masked,
// gives zeros and gradient zero in softmax, and -infinity in log_softmax.
#pragma once
#include <cstddef>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// y may alias x, dx may alias dy.
void softmax(MatrixView<const float> x, MatrixView<float> y, Pool& pool);
void softmax_backward(MatrixView<const float> y, MatrixView<const float> dy, MatrixView<float> dx,
                      Pool& pool);
void log_softmax(MatrixView<const float> x, MatrixView<float> y, Pool& pool);
void log_softmax_backward(MatrixView<const float> y, MatrixView<const float> dy,
                          MatrixView<float> dx, Pool& pool);

// What log_softmax subtracts from a row, with its bits.
struct LogNormalizer {
  float max, log_total;
  float operator()(float x) const { return (x - max) - log_total; }
};
// log_softmax without y: the normalizer of each row, and the maxima of its blocks of kMaximumBlock
// elements, [rows, ceil(cols / kMaximumBlock)]. What is subtracted keeps their order, so y is
// largest there too.
inline constexpr size_t kMaximumBlock = 128;
void log_normalizers(MatrixView<const float> x, std::span<LogNormalizer> of_row,
                     MatrixView<float> block_maxima, Pool& pool);

}  // namespace rapt::kernels
