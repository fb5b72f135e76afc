#include "rapt/kernels/elementwise.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void add(benchmark::State& state) {
  RowsBench b(state);
  const size_t n = b.rows * b.d;
  const auto x = b.values(n), z = b.values(n), y = b.values(n);
  b.run(3, [&](Pool& pool) { kernels::add(x, z, y, pool); });
}
RAPT_BENCH_ROWS(add);

}  // namespace
}  // namespace rapt::kernels
