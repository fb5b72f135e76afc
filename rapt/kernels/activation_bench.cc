// Bytes a second of the backward pass of activations with the gradient of the bias.
#include "rapt/kernels/activation.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rapt::kernels {
namespace {

void backward(benchmark::State& state, Activation activation) {
  const auto rows = static_cast<size_t>(state.range(0)), d = static_cast<size_t>(state.range(1));
  const std::vector<float> saved(rows * d, 0.5f), dy(rows * d, 0.25f);
  std::vector<float> dx(rows * d), partial(row_block_count(rows) * d), dbias(d);
  Pool pool(1);
  for (auto _ : state) {
    activation_backward(activation, {saved.data(), rows, d}, {dy.data(), rows, d},
                        {dx.data(), rows, d}, {partial.data(), row_block_count(rows), d}, dbias,
                        pool);
  }
  const int64_t matrices = activation == Activation::kNone ? 1 : 3;
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1) * matrices *
                          static_cast<int64_t>(sizeof(float)));
}
void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "d"})->ArgsProduct({{64, 4096}, {256, 2048}});
}
BENCHMARK_CAPTURE(backward, none, Activation::kNone)->Apply(shapes);
BENCHMARK_CAPTURE(backward, relu, Activation::kRelu)->Apply(shapes);
BENCHMARK_CAPTURE(backward, gelu, Activation::kGelu)->Apply(shapes);
BENCHMARK_CAPTURE(backward, gelu_tanh, Activation::kGeluTanh)->Apply(shapes);
BENCHMARK_CAPTURE(backward, silu, Activation::kSilu)->Apply(shapes);
BENCHMARK_CAPTURE(backward, sigmoid, Activation::kSigmoid)->Apply(shapes);

}  // namespace
}  // namespace rapt::kernels
