// What a call costs that has nothing to do.
#include "rapt/parallel/pool.h"

#include <benchmark/benchmark.h>

namespace rapt {
namespace {

void empty_tasks(benchmark::State& state) {
  Pool pool(static_cast<size_t>(state.range(0)));
  const auto tasks = static_cast<size_t>(state.range(1));
  for (auto _ : state) {
    pool.run(tasks, 64, [](size_t, float* scratch) { benchmark::DoNotOptimize(scratch); });
  }
}
BENCHMARK(empty_tasks)
    ->ArgNames({"threads", "tasks"})
    ->ArgsProduct({{1, 2}, {1, 2, 64}})
    ->UseRealTime();

}  // namespace
}  // namespace rapt
