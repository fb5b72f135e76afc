#include "rapt/base/random.h"

#include <cmath>

#include "rapt/base/check.h"
#include "rapt/base/scalar_math.h"

namespace rapt {
namespace {

struct NormalPair {
  double even, odd;
};
NormalPair normal_pair(uint64_t key, uint64_t pair) {
  const double radius = std::sqrt(-2 * scalar::log(uniform(key, 2 * pair)));
  const double angle = 2 * scalar::kPi * uniform(key, 2 * pair + 1);
  return {radius * scalar::cos(angle), radius * scalar::sin(angle)};
}

}  // namespace

double normal(uint64_t key, uint64_t index) {
  const NormalPair p = normal_pair(key, index / 2);
  return index % 2 == 0 ? p.even : p.odd;
}

void fill_uniform(std::span<float> out, uint64_t key, double low, double high, uint64_t first) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(std::fma(high - low, uniform(key, first + i), low));
  }
}

void fill_normal(std::span<float> out, uint64_t key, double mean, double sigma, uint64_t first) {
  const auto scaled = [&](double z) { return static_cast<float>(std::fma(sigma, z, mean)); };
  size_t i = 0;
  if (!out.empty() && first % 2 == 1) out[i++] = scaled(normal(key, first));
  for (; i + 1 < out.size(); i += 2) {
    const NormalPair p = normal_pair(key, (first + i) / 2);
    out[i] = scaled(p.even);
    out[i + 1] = scaled(p.odd);
  }
  if (i < out.size()) out[i] = scaled(normal(key, first + i));
}

double xavier_bound(uint64_t fan_in, uint64_t fan_out, double gain) {
  check(fan_in + fan_out > 0, "xavier: both fans are 0, expected at least one input or output");
  return gain * std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
}

void fill_xavier(std::span<float> out, uint64_t key, uint64_t fan_in, uint64_t fan_out, double gain,
                 uint64_t first) {
  const double bound = xavier_bound(fan_in, fan_out, gain);
  fill_uniform(out, key, -bound, bound, first);
}

}  // namespace rapt
