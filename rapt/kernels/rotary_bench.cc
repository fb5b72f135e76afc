#include "rapt/kernels/rotary.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

// One sentence of all rows, heads of 64 columns.
template <RotaryPairs pairs>
void rotary(benchmark::State& state) {
  RowsBench b(state);
  constexpr size_t kDim = 64;
  const auto x = b.matrix(), y = b.matrix();
  const MatrixView<const float> table(b.values(b.rows * 2 * kDim).data(), b.rows, 2 * kDim);
  const Lengths rows = Lengths::single(b.rows);
  b.run(2, [&](Pool& pool) {
    kernels::rotary({table, b.d / kDim, pairs}, x, rows, RotaryTurn::kForward, y, pool);
  });
}
void rotary_neighbours(benchmark::State& state) { rotary<RotaryPairs::kNeighbours>(state); }
void rotary_halves(benchmark::State& state) { rotary<RotaryPairs::kHalves>(state); }
RAPT_BENCH_ROWS(rotary_neighbours);
RAPT_BENCH_ROWS(rotary_halves);

}  // namespace
}  // namespace rapt::kernels
