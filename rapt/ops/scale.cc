#include "rapt/ops/scale.h"

#include "rapt/kernels/elementwise.h"

namespace rapt::ops {

Var scale(Context& ctx, const Var& x, float factor) {
  const Tensor y = ctx.empty(x.shape());
  kernels::scale(x.span(), factor, y.span(), ctx.pool());
  return ctx.record("scale", y, [x = x.place(), factor](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::scale(dy.span(), factor, dx.span(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
