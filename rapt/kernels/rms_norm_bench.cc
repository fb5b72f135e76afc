#include "rapt/kernels/rms_norm.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void rms_norm(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix();
  const auto gamma = b.row(), rrms = b.values(b.rows);
  b.run(2, [&](Pool& pool) { kernels::rms_norm(x, gamma, 1e-5f, y, rrms, pool); });
}
RAPT_BENCH_ROWS(rms_norm);

void rms_norm_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), dy = b.matrix(), dx = b.matrix(), partial = b.partial(b.d);
  const auto gamma = b.row(), dgamma = b.row(), rrms = b.values(b.rows);
  b.run(3, [&](Pool& pool) {
    kernels::rms_norm_backward(x, gamma, rrms, dy, dx, dgamma, partial, pool);
  });
}
RAPT_BENCH_ROWS(rms_norm_backward);

}  // namespace
}  // namespace rapt::kernels
