#include "rapt/ops/rms_norm.h"

#include "rapt/kernels/rms_norm.h"

namespace rapt::ops {

Var rms_norm(Context& ctx, const Var& x, const Var& gamma, float eps) {
  const Shape d = {x.shape().back()};
  check(gamma.shape() == d, "rms_norm: gamma is ", gamma.shape(), ", expected ", d);

  const Tensor y = ctx.empty(x.shape()), rrms = ctx.empty({x.rows()});
  kernels::rms_norm(x.matrix(), gamma.span(), eps, y.matrix(), rrms.span(), ctx.pool());

  return ctx.record("rms_norm", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::rms_norm_backward(x.matrix(), gamma.span(), rrms.span(), dy.matrix(), dx.matrix(),
                               grads.of(gamma).span(), grads.partial(x.rows(), d.back()).matrix(),
                               grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
