#include "rapt/kernels/activation_dropout.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

template <Activation kActivation>
void activation_dropout(benchmark::State& state) {
  RowsBench b(state);
  const auto x = b.matrix(), y = b.matrix();
  const Lengths lengths = Lengths::single(b.rows);
  const RowDropout dropout{1, DropRate::of(0.1), &lengths};
  b.run(2, [&](Pool& pool) { kernels::activation_dropout(kActivation, x, dropout, y, pool); });
}
RAPT_BENCH_ROWS(activation_dropout<Activation::kRelu>);
RAPT_BENCH_ROWS(activation_dropout<Activation::kGelu>);

template <Activation kActivation>
void activation_dropout_backward(benchmark::State& state) {
  RowsBench b(state);
  const auto saved = b.matrix(), dy = b.matrix(), dx = b.matrix();
  const Lengths lengths = Lengths::single(b.rows);
  const RowDropout dropout{1, DropRate::of(0.1), &lengths};
  b.run(3, [&](Pool& pool) {
    kernels::activation_dropout_backward(kActivation, saved, dy, dropout, dx, pool);
  });
}
RAPT_BENCH_ROWS(activation_dropout_backward<Activation::kRelu>);
RAPT_BENCH_ROWS(activation_dropout_backward<Activation::kGelu>);

}  // namespace
}  // namespace rapt::kernels
