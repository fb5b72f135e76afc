#include "rapt/ops/log_softmax.h"

#include "rapt/kernels/softmax.h"

namespace rapt::ops {

Var log_softmax(Context& ctx, const Var& x) {
  const Tensor y = ctx.empty(x.shape());
  kernels::log_softmax(x.matrix(), y.matrix(), ctx.pool());
  return ctx.record("log_softmax", y, [x = x.place(), y](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::log_softmax_backward(y.matrix(), dy.matrix(), dx.matrix(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
