#include "rapt/kernels/softmax.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

void softmax(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix();
  b.run(2, [&](Pool& pool) { kernels::softmax(x, y, pool); });
}
RAPT_BENCH_ROWS(softmax);

void softmax_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto y = b.matrix(), dy = b.matrix(), dx = b.matrix();
  b.run(3, [&](Pool& pool) { kernels::softmax_backward(y, dy, dx, pool); });
}
RAPT_BENCH_ROWS(softmax_backward);

void log_softmax(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix();
  b.run(2, [&](Pool& pool) { kernels::log_softmax(x, y, pool); });
}
RAPT_BENCH_ROWS(log_softmax);

void log_softmax_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto y = b.matrix(), dy = b.matrix(), dx = b.matrix();
  b.run(3, [&](Pool& pool) { kernels::log_softmax_backward(y, dy, dx, pool); });
}
RAPT_BENCH_ROWS(log_softmax_backward);

}  // namespace
}  // namespace rapt::kernels
