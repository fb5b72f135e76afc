#include "rapt/kernels/batch_norm.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void batch_norm(benchmark::State& state) {  // of training
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix(), partial = b.partial(b.d);
  const auto gamma = b.row(), beta = b.row(), mean = b.row(), var = b.row(), rstd = b.row();
  b.run(4, [&](Pool& pool) {
    column_moments(x, mean, var, partial, pool);
    reciprocal_deviation(var, 1e-5f, rstd);
    kernels::batch_norm(x, {mean, rstd}, gamma, beta, y, pool);
  });
}
RAPT_BENCH_ROWS(batch_norm);

void batch_norm_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), dy = b.matrix();
  const auto gamma = b.row(), mean = b.row(), rstd = b.row();
  const BatchNormGradient gradient{b.matrix(), b.row(), b.row(), b.partial(2 * b.d),
                                   b.values(2 * b.d)};
  b.run(5, [&](Pool& pool) {
    kernels::batch_norm_backward(x, {mean, rstd}, true, gamma, dy, gradient, pool);
  });
}
RAPT_BENCH_ROWS(batch_norm_backward);

}  // namespace
}  // namespace rapt::kernels
