// Inverted dropout of rows, y = m * x, m = 0 with probability p and 1 / (1 - p) otherwise; and the
// residual sum s = x + m * sub. The bits follow the token of a row and are drawn again wherever they
// are needed: base/philox.h.
#pragma once
#include <algorithm>

#include "rapt/base/lengths.h"
#include "rapt/base/matrix_view.h"
#include "rapt/base/philox.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

struct RowDropout {
  uint64_t key = 0;               // op_key of the site
  DropRate rate;                  // off: m = 1
  const Lengths* rows = nullptr;  // names the token of each row
  bool on() const { return rate.on(); }
};

// The scratch that a task needs to draw rows of d columns, in whole steps of 128 draws: a target that
// makes more at once does so where they fit.
constexpr size_t dropout_scratch(size_t d) { return (d + 127) / 128 * 64; }

// f(begin, end, scratch) for blocks of kRowBlock rows.
template <class F>
void dropout_blocks(size_t rows, size_t d, Pool& pool, const F& f) {
  pool.run(row_block_count(rows), dropout_scratch(d), [&](size_t block, float* scratch) {
    f(block * kRowBlock, std::min(rows, (block + 1) * kRowBlock), scratch);
  });
}

// y may alias x. The gradient is the same function of dy.
void dropout(MatrixView<const float> x, const RowDropout& dropout, MatrixView<float> y, Pool& pool);

// s = x + m * sub, rounded once. s may alias x or sub.
void add_dropout(MatrixView<const float> x, MatrixView<const float> sub, const RowDropout& dropout,
                 MatrixView<float> s, Pool& pool);

}  // namespace rapt::kernels
