#include "rapt/kernels/gated.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

template <Activation kActivation>
void gated(benchmark::State& state) {
  RowsBench bench(state);
  const auto a = bench.matrix(), b = bench.matrix(), y = bench.matrix();
  const Lengths lengths = Lengths::single(bench.rows);
  const RowDropout dropout{1, DropRate::of(0.1), &lengths};
  bench.run(3, [&](Pool& pool) { kernels::gated(kActivation, a, b, dropout, y, pool); });
}
RAPT_BENCH_ROWS(gated<Activation::kSilu>);
RAPT_BENCH_ROWS(gated<Activation::kGelu>);

template <Activation kActivation>
void gated_backward(benchmark::State& state) {
  RowsBench bench(state);
  const auto a = bench.matrix(), b = bench.matrix(), dy = bench.matrix(), da = bench.matrix(),
             db = bench.matrix();
  const Lengths lengths = Lengths::single(bench.rows);
  const RowDropout dropout{1, DropRate::of(0.1), &lengths};
  bench.run(5, [&](Pool& pool) {
    kernels::gated_backward(kActivation, a, b, dy, dropout, da, db, pool);
  });
}
RAPT_BENCH_ROWS(gated_backward<Activation::kSilu>);
RAPT_BENCH_ROWS(gated_backward<Activation::kGelu>);

}  // namespace
}  // namespace rapt::kernels
