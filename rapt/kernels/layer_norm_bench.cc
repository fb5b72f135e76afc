#include "rapt/kernels/layer_norm.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void layer_norm(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix();
  const auto gamma = b.row(), beta = b.row();
  const NormStats stats{b.values(b.rows), b.values(b.rows)};
  b.run(2, [&](Pool& pool) { kernels::layer_norm(x, gamma, beta, 1e-5f, y, stats, pool); });
}
RAPT_BENCH_ROWS(layer_norm);

void layer_norm_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), dy = b.matrix(), dx = b.matrix(), partial = b.partial(2 * b.d);
  const auto gamma = b.row(), dgamma = b.row(), dbeta = b.row();
  const NormStats stats{b.values(b.rows), b.values(b.rows)};
  b.run(3, [&](Pool& pool) {
    kernels::layer_norm_backward(x, gamma, stats, dy, dx, dgamma, dbeta, partial, pool);
  });
}
RAPT_BENCH_ROWS(layer_norm_backward);

}  // namespace
}  // namespace rapt::kernels
