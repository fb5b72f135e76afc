#include "rapt/kernels/mixture_of_experts.h"

#include "rapt/kernels/bench_rows.h"

namespace rapt::kernels {
namespace {

constexpr size_t kTop = 2;

// Each row takes two rows of a matrix of twice as many.
std::vector<float*> pointers(std::span<float> x, size_t d) {
  std::vector<float*> rows(x.size() / d);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = x.data() + (i * 7919 % rows.size()) * d;
  return rows;
}

void combine(benchmark::State& state) {
  RowsBench b(state);
  const std::vector<float*> x = pointers(b.values(kTop * b.rows * b.d), b.d);
  const MatrixView<float> weights{b.values(b.rows * kTop).data(), b.rows, kTop}, y = b.matrix();
  b.run(kTop + 1, [&](Pool& pool) { kernels::combine(x, weights, y, pool); });
}
RAPT_BENCH_ROWS(combine);

void combine_backward(benchmark::State& state) {
  RowsBench b(state);
  const std::vector<float*> x = pointers(b.values(kTop * b.rows * b.d), b.d);
  const std::vector<float*> dx = pointers(b.values(kTop * b.rows * b.d), b.d);
  const MatrixView<float> weights{b.values(b.rows * kTop).data(), b.rows, kTop}, dy = b.matrix();
  const MatrixView<float> dweights{b.values(b.rows * kTop).data(), b.rows, kTop};
  b.run(2 * kTop + 1,
        [&](Pool& pool) { kernels::combine_backward(x, weights, dy, dx, dweights, pool); });
}
RAPT_BENCH_ROWS(combine_backward);

void top_k(benchmark::State& state) {
  RowsBench b(state);
  const MatrixView<float> x = b.matrix(), values{b.values(b.rows * kTop).data(), b.rows, kTop};
  std::vector<int32_t> index(b.rows * kTop);
  b.run(1, [&](Pool& pool) { kernels::top_k(x, values, index, pool); });
}
BENCHMARK(top_k)->ArgNames({"rows", "d"})->ArgsProduct({{64, 8192}, {8, 64}});

}  // namespace
}  // namespace rapt::kernels
