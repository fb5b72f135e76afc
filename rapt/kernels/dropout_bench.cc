#include "rapt/kernels/dropout.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void dropout(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix();
  const Lengths lengths = Lengths::single(b.rows);
  b.run(2, [&](Pool& pool) { kernels::dropout(x, {1, DropRate::of(0.1), &lengths}, y, pool); });
}
RAPT_BENCH_ROWS(dropout);

void add_dropout(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), sub = b.matrix(), s = b.matrix();
  const Lengths lengths = Lengths::single(b.rows);
  b.run(3, [&](Pool& pool) {
    kernels::add_dropout(x, sub, {1, DropRate::of(0.1), &lengths}, s, pool);
  });
}
RAPT_BENCH_ROWS(add_dropout);

}  // namespace
}  // namespace rapt::kernels
