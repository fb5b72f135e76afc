#include "rapt/ops/softmax.h"

#include "rapt/kernels/softmax.h"

namespace rapt::ops {

Var softmax(Context& ctx, const Var& x) {
  const Tensor y = ctx.empty(x.shape());
  kernels::softmax(x.matrix(), y.matrix(), ctx.pool());
  return ctx.record("softmax", y, [x = x.place(), y](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::softmax_backward(y.matrix(), dy.matrix(), dx.matrix(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
