#include "rapt/ops/log_softmax.h"

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

LogProbabilities::LogProbabilities(Context& ctx, const Tensor& x)
    : x_(x),
      block_maxima_(ctx.empty({x.rows(), (x.cols() + kBlock - 1) / kBlock})),
      of_row_(ctx.buffer<kernels::LogNormalizer>(x.rows())) {
  kernels::log_normalizers(x.matrix(), of_row_.span(), block_maxima_.matrix(), ctx.pool());
  ctx.record("log_softmax", x, [](const Tensor&, Grads&) {});
}

}  // namespace rapt::ops
