#include "rapt/ops/batch_norm.h"

#include "rapt/kernels/batch_norm.h"

namespace rapt::ops {
namespace {

void add_batch(const RunningMoments& running, const Tensor& mean, const Tensor& var, size_t rows) {
  const auto n = static_cast<float>(rows);
  kernels::move_average(running.mean.span(), running.momentum, 1, mean.span());
  kernels::move_average(running.var.span(), running.momentum, n / (n - 1), var.span());
  running.batches.data()[0] += 1;
}

}  // namespace

Var batch_norm(Context& ctx, const Var& x, const Var& gamma, const Var& beta,
               const RunningMoments& running, float eps) {
  const Shape d = {x.shape().back()};
  check(gamma.shape() == d, "batch_norm: gamma is ", gamma.shape(), ", expected ", d);
  check(beta.shape() == d, "batch_norm: beta is ", beta.shape(), ", expected ", d);
  check(running.mean.shape() == d && running.var.shape() == d, "batch_norm: running moments are ",
        running.mean.shape(), " and ", running.var.shape(), ", expected ", d);

  const bool of_batch = ctx.training() && x.rows() > 0;
  Tensor mean = running.mean, var = running.var;
  if (of_batch) {
    mean = ctx.empty(d);
    var = ctx.empty(d);
    const Tensor partial = ctx.empty({row_block_count(x.rows()), d.back()});
    kernels::column_moments(x.matrix(), mean.span(), var.span(), partial.matrix(), ctx.pool());
    if (x.rows() > 1) ctx.defer([=, rows = x.rows()] { add_batch(running, mean, var, rows); });
  }
  const Tensor y = ctx.empty(x.shape()), rstd = ctx.empty(d);
  kernels::reciprocal_deviation(var.span(), eps, rstd.span());
  const auto stats = [=] { return kernels::ColumnStats{mean.span(), rstd.span()}; };
  kernels::batch_norm(x.matrix(), stats(), gamma.span(), beta.span(), y.matrix(), ctx.pool());

  return ctx.record("batch_norm", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x), sums = grads.empty({2 * d.back()});
    kernels::batch_norm_backward(x.matrix(), stats(), of_batch, gamma.span(), dy.matrix(),
                                 {dx.matrix(), grads.of(gamma).span(), grads.of(beta).span(),
                                  grads.partial(x.rows(), 2 * d.back()).matrix(), sums.span()},
                                 grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace rapt::ops
