#include "rapt/ops/tanh.h"

#include "rapt/kernels/tanh.h"

namespace rapt::ops {

Var tanh(Context& ctx, const Var& x, float bound) {
  check(bound > 0, "tanh: bound is ", bound, ", expected a positive number");
  const Tensor y = ctx.empty(x.shape());
  kernels::tanh(x.span(), bound, y.span(), ctx.pool());
  return ctx.record("tanh", y, [x = x.place(), y, bound](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::tanh_backward(y.span(), bound, dy.span(), dx.span(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
