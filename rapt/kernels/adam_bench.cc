#include "rapt/kernels/adam.h"

#include "rapt/kernels/bench_rows.h"
#include "rapt/kernels/sum_squares.h"

namespace rapt::kernels {
namespace {

void adam(benchmark::State& state) {
  RowsBench b(state);
  const size_t n = b.rows * b.d;
  AdamTensors t{b.values(n), b.values(n), b.values(n), b.values(n)};
  for (float& v : t.v) v = v * v;
  AdamArgs args;
  b.run(8, [&](Pool& pool) { kernels::adam(args, t, pool), ++args.step; });
}
RAPT_BENCH_ROWS(adam);

void sum_squares(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.values(b.rows * b.d);
  b.run(1, [&](Pool& pool) { benchmark::DoNotOptimize(kernels::sum_squares(x, pool)); });
}
RAPT_BENCH_ROWS(sum_squares);

}  // namespace
}  // namespace rapt::kernels
