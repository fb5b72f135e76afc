#include "rapt/insight/draws.h"

#include <cmath>

#include "rapt/base/random.h"

namespace rapt::insight {
namespace {

constexpr size_t kBlock = 64;  // draws of a task

void fill(std::span<float> out, uint64_t key, uint64_t first, Components components) {
  const double bound = std::sqrt(3.0);
  switch (components) {
    case Components::kNormal:
      return fill_normal(out, key, 0, 1, first);
    case Components::kUniform:
      return fill_uniform(out, key, -bound, bound, first);
    case Components::kRademacher:
      fill_uniform(out, key, -1, 1, first);
      for (float& v : out) v = v < 0 ? -1.0f : 1.0f;
  }
}

}  // namespace

void draw_vector(std::span<float> out, uint64_t key, uint64_t number, const VectorKind& kind) {
  const uint64_t first = number << 32;  // no vector is as long
  fill(out, key, first, kind.components);
  if (kind.correlation == 0) return;
  float shared;
  fill({&shared, 1}, key, first + out.size(), kind.components);
  const float common = static_cast<float>(std::sqrt(kind.correlation)) * shared;
  const float own = static_cast<float>(std::sqrt(1 - kind.correlation));
  for (float& v : out) v = common + own * v;
}

std::vector<double> measure_draws(size_t draws, size_t floats, Pool& pool,
                                  FunctionRef<double(size_t, std::span<float>)> f) {
  std::vector<double> values(draws);
  pool.run((draws + kBlock - 1) / kBlock, floats, [&](size_t task, float* scratch) {
    const size_t end = std::min(draws, (task + 1) * kBlock);
    for (size_t i = task * kBlock; i < end; ++i) values[i] = f(i, {scratch, floats});
  });
  return values;
}

double dot(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += double{x[i]} * double{y[i]};
  return sum;
}

}  // namespace rapt::insight
