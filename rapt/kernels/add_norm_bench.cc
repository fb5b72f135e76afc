#include "rapt/kernels/add_norm.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void add_norm(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), sub = b.matrix(), s = b.matrix(), y = b.matrix();
  const auto gamma = b.row(), beta = b.row();
  const NormStats stats{b.values(b.rows), b.values(b.rows)};
  const Lengths lengths = Lengths::single(b.rows);
  const RowDropout dropout{1, DropRate::of(0.1), &lengths};
  b.run(4, [&](Pool& pool) {
    kernels::add_norm(1, x, sub, dropout, gamma, beta, 1e-5f, s, y, stats, pool);
  });
}
RAPT_BENCH_ROWS(add_norm);

void add_norm_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto s = b.matrix(), dy = b.matrix();
  const NormStats stats{b.values(b.rows), b.values(b.rows)};
  const AddNormGradient gradient{b.matrix(), b.matrix(), b.row(), b.row(), b.partial(2 * b.d)};
  const auto gamma = b.row();
  const Lengths lengths = Lengths::single(b.rows);
  const RowDropout dropout{1, DropRate::of(0.1), &lengths};
  b.run(4, [&](Pool& pool) {
    kernels::add_norm_backward(1, s, gamma, stats, dy, {}, dropout, gradient, pool);
  });
}
RAPT_BENCH_ROWS(add_norm_backward);

}  // namespace
}  // namespace rapt::kernels
