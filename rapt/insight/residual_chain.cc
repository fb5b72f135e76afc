#include "rapt/insight/residual_chain.h"

#include <cmath>

#include "rapt/insight/draws.h"

namespace rapt::insight {
namespace {

using Vector = std::vector<double>;

double length_of(const Vector& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

}  // namespace

Chain number_chain(double slope, size_t layers) {
  Chain chain{{1}, {1}};
  for (size_t i = 0; i < layers; ++i) {
    chain.without.push_back(chain.without.back() * std::abs(slope));
    chain.with.push_back(chain.with.back() * std::abs(1 + slope));
  }
  return chain;
}

Chain vector_chain(double factor, size_t layers, size_t width, uint64_t key) {
  const double scale = factor / std::sqrt(static_cast<double>(width));
  Vector without(width, 1 / std::sqrt(static_cast<double>(width))), with = without;
  std::vector<float> row(width);
  Chain chain{{1}, {1}};
  for (size_t layer = 0; layer < layers; ++layer) {
    Vector f_without(width), f_with(width);  // f W^T v, row by row of W
    for (size_t i = 0; i < width; ++i) {
      draw_vector(row, key, layer * width + i, {});
      for (size_t j = 0; j < width; ++j) {
        const double w = scale * static_cast<double>(row[j]);
        f_without[j] += w * without[i];
        f_with[j] += w * with[i];
      }
    }
    without = f_without;
    for (size_t j = 0; j < width; ++j) with[j] += f_with[j];
    chain.without.push_back(length_of(without));
    chain.with.push_back(length_of(with));
  }
  return chain;
}

}  // namespace rapt::insight
