#include "rapt/kernels/layer_norm.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>

#include "rapt/parallel/scratch.h"

namespace rapt::kernels {
namespace {

struct Data {
  Data(size_t rows, size_t d) : rows(rows), d(d) {
    float* p =
        memory.reserve(3 * rows * d + 2 * rows + 4 * d + row_block_count(rows) * 2 * d + 256);
    const auto take = [&](size_t n, float value) {
      const std::span<float> span(std::exchange(p, p + (n + 31) / 16 * 16), n);
      std::ranges::fill(span, value);
      return span;
    };
    x = take(rows * d, 0.5f);
    dy = take(rows * d, 0.25f);
    y = take(rows * d, 0.0f);
    stats = {take(rows, 0.0f), take(rows, 1.0f)};
    gamma = take(d, 1.0f);
    beta = take(d, 0.0f);
    dgamma = take(d, 0.0f);
    dbeta = take(d, 0.0f);
    partial = take(row_block_count(rows) * 2 * d, 0.0f);
  }
  MatrixView<float> matrix(std::span<float> values) const { return {values.data(), rows, d}; }

  size_t rows, d;
  ScratchBuffer memory;
  std::span<float> x, dy, y, gamma, beta, dgamma, dbeta, partial;
  NormStats stats;
};

void set_bytes(benchmark::State& state, size_t matrices) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1) *
                          static_cast<int64_t>(matrices * sizeof(float)));
}

void forward(benchmark::State& state) {
  Data a(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)));
  Pool pool(1);
  for (auto _ : state) {
    layer_norm(a.matrix(a.x), a.gamma, a.beta, 1e-5f, a.matrix(a.y), a.stats, pool);
  }
  set_bytes(state, 2);
}
BENCHMARK(forward)->ArgNames({"rows", "d"})->ArgsProduct({{64, 4096}, {64, 128, 256, 512, 1000}});

void backward(benchmark::State& state) {
  Data a(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)));
  Pool pool(1);
  for (auto _ : state) {
    layer_norm_backward(a.matrix(a.x), a.gamma, a.stats, a.matrix(a.dy), a.matrix(a.y), a.dgamma,
                        a.dbeta, {a.partial.data(), row_block_count(a.rows), 2 * a.d}, pool);
  }
  set_bytes(state, 3);
}
BENCHMARK(backward)->ArgNames({"rows", "d"})->ArgsProduct({{64, 4096}, {64, 128, 256, 512, 1000}});

}  // namespace
}  // namespace rapt::kernels
