#include "rapt/ops/rotary.h"

#include "rapt/base/check.h"

namespace rapt::ops {

using kernels::RotaryTurn;

Var rotary(Context& ctx, const Var& x, const Lengths& rows, const Tensor& table, size_t heads,
           kernels::RotaryPairs pairs) {
  check(x.shape().rank() == 2 && x.rows() == rows.rows(), "rotary: x is ", x.shape(),
        ", expected a matrix of ", rows.rows(), " rows");
  check(table.shape().rank() == 2 && table.cols() % 4 == 0, "rotary: the table is ", table.shape(),
        ", expected two columns for each of an even number of columns of a head");
  check(heads * table.cols() / 2 <= x.cols(), "rotary: ", heads, " heads of ", table.cols() / 2,
        " columns in a matrix that has ", x.cols());
  for (size_t s = 0; s < rows.sequences(); ++s) {
    const size_t end = size_t{rows[s].past} + rows[s].size;
    check(end <= table.rows(), "rotary: position ", end - 1, " of sequence ", s,
          " is beyond the table of ", table.rows(), " positions");
  }

  const Tensor y = ctx.empty(x.shape());
  const auto turn = [=](const Tensor& from, RotaryTurn direction, const Tensor& to, Pool& pool) {
    kernels::rotary({table.matrix(), heads, pairs}, from.matrix(), rows, direction, to.matrix(),
                    pool);
  };
  turn(x.value(), RotaryTurn::kForward, y, ctx.pool());
  return ctx.record("rotary", y, [turn, x = x.place()](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    turn(dy, RotaryTurn::kBack, dx, grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
