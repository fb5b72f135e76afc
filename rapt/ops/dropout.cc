#include "rapt/ops/dropout.h"

#include "rapt/ops/dropout_bits.h"

namespace rapt::ops {

Var dropout(Context& ctx, const Var& x, const Lengths& lengths, const Dropout& dropout) {
  const DropoutBits bits(ctx, "dropout", dropout, lengths, x.rows());
  if (!bits.on()) return x;
  const Tensor y = ctx.empty(x.shape());
  kernels::dropout(x.matrix(), bits.of_rows(), y.matrix(), ctx.pool());
  return ctx.record("dropout", y, [x = x.place(), bits](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::dropout(dy.matrix(), bits.of_rows(), dx.matrix(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
