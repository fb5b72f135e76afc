#include "rapt/ops/layer_norm.h"

#include "rapt/kernels/layer_norm.h"

namespace rapt::ops {

Var layer_norm(Context& ctx, const Var& x, const Var& gamma, const Var& beta, float eps) {
  const Shape d = {x.shape().back()};
  check(gamma.shape() == d, "layer_norm: gamma is ", gamma.shape(), ", expected ", d);
  check(beta.shape() == d, "layer_norm: beta is ", beta.shape(), ", expected ", d);

  const Tensor y = ctx.empty(x.shape()), mean = ctx.empty({x.rows()}), rstd = ctx.empty({x.rows()});
  const auto stats = [=] { return kernels::NormStats{mean.span(), rstd.span()}; };
  kernels::layer_norm(x.matrix(), gamma.span(), beta.span(), eps, y.matrix(), stats(), ctx.pool());

  // dy may be shared with other branches: read-only.
  return ctx.record("layer_norm", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::layer_norm_backward(x.matrix(), gamma.span(), stats(), dy.matrix(), dx.matrix(),
                                 grads.of(gamma).span(), grads.of(beta).span(),
                                 grads.partial(x.rows(), 2 * d.back()).matrix(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
