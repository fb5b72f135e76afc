// What the benchmarks of row-wise kernels share: aligned values, and bytes counted.
#pragma once
#include <benchmark/benchmark.h>

#include <deque>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"
#include "rapt/parallel/scratch.h"

namespace rapt::kernels {

class RowsBench {
 public:
  explicit RowsBench(benchmark::State& state)
      : state_(state),
        rows(static_cast<size_t>(state.range(0))),
        d(static_cast<size_t>(state.range(1))) {}

  // n values around 0, of different sizes.
  std::span<float> values(size_t n) {
    const std::span<float> all(memory_.emplace_back().reserve(n), n);
    for (size_t i = 0; i < n; ++i) all[i] = static_cast<float>(i * 2654435761u % 1000) / 500 - 1;
    return all;
  }
  std::span<float> row() { return values(d); }
  MatrixView<float> matrix() { return {values(rows * d).data(), rows, d}; }
  MatrixView<float> partial(size_t width) {
    return {values(row_block_count(rows) * width).data(), row_block_count(rows), width};
  }

  // Runs f on one thread; it reads and writes `matrices` of rows x d floats.
  template <class F>
  void run(size_t matrices, const F& f) {
    for (auto _ : state_) f(pool_);
    state_.SetBytesProcessed(state_.iterations() *
                             static_cast<int64_t>(matrices * rows * d * sizeof(float)));
  }

 private:
  benchmark::State& state_;
  std::deque<ScratchBuffer> memory_;
  Pool pool_{1};

 public:
  const size_t rows, d;
};

// In L2, and in memory.
#define RAPT_BENCH_ROWS(f) \
  BENCHMARK(f)->ArgNames({"rows", "d"})->ArgsProduct({{64, 8192}, {128, 512, 1000}})

}  // namespace rapt::kernels
