// Logits a second of the smoothed loss, with and without the gradient in their place.
#include "rapt/kernels/cross_entropy.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "rapt/kernels/cross_entropy_ref.h"

namespace rapt::kernels {
namespace {

void loss(benchmark::State& state, bool gradient) {
  const auto rows = static_cast<size_t>(state.range(0)),
             classes = static_cast<size_t>(state.range(1));
  std::vector<float> z(rows * classes);
  for (size_t i = 0; i < z.size(); ++i) z[i] = static_cast<float>(i * 2654435761u % 4096) / 512 - 4;
  const std::vector<int32_t> targets(rows, 1);
  std::vector<double> smoothed(rows), nll(rows);
  const SmoothingWeights weights{0.1f, 0.1f / static_cast<float>(classes)};
  Pool pool(1);
  const std::vector<double> row(z.begin(), z.begin() + static_cast<ptrdiff_t>(classes));
  const auto run = [&] {
    cross_entropy({z.data(), rows, classes}, targets, weights, gradient, {smoothed, nll}, pool);
  };
  run();
  const auto want = cross_entropy_ref<double>(row, 1, weights.e, weights.u);
  if (!(std::abs(smoothed[0] - want.smoothed) < 1e-4)) return state.SkipWithError("wrong result");
  for (auto _ : state) run();
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}
void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "classes"})->ArgsProduct({{512}, {50, 9712, 32000}});
}
BENCHMARK_CAPTURE(loss, with_gradient, true)->Apply(shapes);
BENCHMARK_CAPTURE(loss, alone, false)->Apply(shapes);

}  // namespace
}  // namespace rapt::kernels
