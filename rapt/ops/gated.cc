#include "rapt/ops/gated.h"

#include "rapt/kernels/gated.h"
#include "rapt/ops/dropout_bits.h"

namespace rapt::ops {

Var gated(Context& ctx, const Var& a, const Var& b, kernels::Activation activation,
          const Dropout& dropout, const Lengths& lengths) {
  check(a.shape() == b.shape(), "gated: a is ", a.shape(), ", b is ", b.shape());
  const DropoutBits bits(ctx, "gated", dropout, lengths, a.rows());
  const Tensor y = ctx.empty(a.shape());
  kernels::gated(activation, a.matrix(), b.matrix(), bits.of_rows(), y.matrix(), ctx.pool());
  return ctx.record("gated", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor da = grads.empty(a), db = grads.empty(b);
    kernels::gated_backward(activation, a.matrix(), b.matrix(), dy.matrix(), bits.of_rows(),
                            da.matrix(), db.matrix(), grads.pool());
    grads.add(a, da);
    grads.add(b, db);
  });
}

}  // namespace rapt::ops
