// Random vectors for experiments: components of mean 0 and variance 1, each vector a pure function
// of a key and its number, so that any number of threads draws the same.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "rapt/base/options.h"
#include "rapt/base/philox.h"
#include "rapt/parallel/pool.h"

namespace rapt {
namespace insight {

// Standard normal; uniform within ±sqrt(3); -1 or 1.
enum class Components { kNormal, kUniform, kRademacher };

struct VectorKind {
  Components components = Components::kNormal;
  // r of any two components of one vector: x_i = sqrt(r) s + sqrt(1 - r) z_i, where s and the z_i
  // are independent draws.
  double correlation = 0;
};

// The key of what a claim draws under a name.
constexpr uint64_t draw_key(uint64_t seed, std::string_view name) {
  return op_key(seed, Stream::kSample, site_of(name), 0);
}

// Vector `number` of a key.
void draw_vector(std::span<float> out, uint64_t key, uint64_t number, const VectorKind& kind);

// f(draw, scratch) for draw = 0 … draws - 1, in parallel, its values in this order; `floats` of
// scratch, not cleared.
std::vector<double> measure_draws(size_t draws, size_t floats, Pool& pool,
                                  FunctionRef<double(size_t, std::span<float>)> f);

// Sum of x_i y_i, in double.
double dot(std::span<const float> x, std::span<const float> y);

}  // namespace insight

template <>
inline constexpr auto kNames<insight::Components> =
    names<insight::Components>({{insight::Components::kNormal, "normal"},
                                {insight::Components::kUniform, "uniform"},
                                {insight::Components::kRademacher, "rademacher"}});

}  // namespace rapt
