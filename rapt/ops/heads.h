// The heads of queries or of keys: what a score of attention reads.
#pragma once
#include "rapt/autograd/context.h"
#include "rapt/base/lengths.h"
#include "rapt/kernels/block.h"
#include "rapt/ops/attention.h"

namespace rapt::ops {

// Head h is the columns x.first + h * dim … of x; its rows are those of `rows`.
struct Heads {
  Columns x;
  Lengths rows;
  size_t count = 1, dim = 0;

  size_t width() const { return count * dim; }
  MatrixView<float> of(const Tensor& t, size_t s, size_t h) const {
    const size_t first = x.first + h * dim;
    return t.matrix().slice_rows(rows.offset(s), rows.offset(s + 1)).slice_cols(first, first + dim);
  }
  // Throws InvalidArgument, in the name of `op`, unless the columns exist and the rows fit.
  void check_fits(const char* op, const char* name) const {
    check(x.x.shape().rank() == 2 && x.x.rows() == rows.rows(), op, ": ", name, " is ", x.x.shape(),
          ", expected a matrix of ", rows.rows(), " rows");
    check(count > 0 && dim > 0 && x.first + width() <= x.x.cols(), op, ": ", name, " is ", count,
          " heads of ", dim, " columns from ", x.first, " of a matrix that has ", x.x.cols());
  }
};

// dx, the gradient of columns of x, joins the gradient of x.
inline void add_columns(const Grads& grads, const Columns& x, const Tensor& dx) {
  if (!grads.wants(x.x)) return;
  const MatrixView<float> total = grads.of(x.x).matrix();
  kernels::add_block(dx.matrix(), total.slice_cols(x.first, x.first + dx.cols()));
}

// Scores of all heads and sentences are one table [heads, queries.rows(), keys.longest()]. A row has
// those of its sentence's keys in order, and zeros behind them. make_table() writes the zeros.
Tensor make_table(Context& ctx, size_t heads, const Lengths& queries, const Lengths& keys);
// The part of one head and sentence.
inline MatrixView<float> table_block(const Tensor& table, const Lengths& queries,
                                     const Lengths& keys, size_t s, size_t h) {
  const size_t first = h * queries.rows();
  return table.matrix()
      .slice_rows(first + queries.offset(s), first + queries.offset(s + 1))
      .slice_cols(0, keys[s].size);
}

}  // namespace rapt::ops
