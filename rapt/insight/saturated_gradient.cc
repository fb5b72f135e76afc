#include "rapt/insight/saturated_gradient.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/base/scalar_math.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {

SoftmaxGradient softmax_gradient(std::span<const double> scores, std::span<const double> g) {
  const size_t n = scores.size();
  const double top = *std::ranges::max_element(scores);
  SoftmaxGradient result{std::vector<double>(n), std::vector<double>(n)};
  double total = 0;
  for (size_t i = 0; i < n; ++i) total += result.p[i] = scalar::exp(scores[i] - top);
  for (double& p : result.p) p /= total;
  double squares = 0;
  for (size_t i = 0; i < n; ++i) {
    double others = 0, difference = 0;
    for (size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      others += result.p[j];
      difference += result.p[j] * (g[i] - g[j]);
      squares += result.p[i] * result.p[i] * result.p[j] * result.p[j];
    }
    squares += result.p[i] * result.p[i] * others * others;
    result.ds[i] = result.p[i] * difference;
  }
  result.jacobian = std::sqrt(squares);
  return result;
}

std::vector<GradientDraws> draw_gradients(size_t d_k, size_t keys, size_t draws,
                                          std::span<const double> scales, uint64_t seed,
                                          Pool& pool) {
  const uint64_t vectors = draw_key(seed, "vanishing.vectors");
  const uint64_t gradients = draw_key(seed, "vanishing.gradients");
  std::vector<GradientDraws> result(scales.size(),
                                    {std::vector<double>(draws), std::vector<double>(draws)});
  pool.run(draws, (keys + 1) * d_k, [&](size_t draw, float* scratch) {
    const auto vector = [&](size_t i) { return std::span(scratch + i * d_k, d_k); };
    std::vector<double> products(keys), scores(keys), g(keys);
    draw_vector(vector(0), vectors, draw * (keys + 1), {});
    for (size_t j = 0; j < keys; ++j) {
      draw_vector(vector(1 + j), vectors, draw * (keys + 1) + 1 + j, {});
      products[j] = dot(vector(0), vector(1 + j));
      g[j] = normal(gradients, draw * keys + j);
    }
    for (size_t i = 0; i < scales.size(); ++i) {
      for (size_t j = 0; j < keys; ++j) scores[j] = scales[i] * products[j];
      const SoftmaxGradient softmax = softmax_gradient(scores, g);
      double squares = 0;
      for (size_t c = 0; c < d_k; ++c) {
        double dq = 0;
        for (size_t j = 0; j < keys; ++j) {
          dq += softmax.ds[j] * static_cast<double>(vector(1 + j)[c]);
        }
        squares += scales[i] * dq * scales[i] * dq;
      }
      result[i].jacobian[draw] = softmax.jacobian;
      result[i].query[draw] = std::sqrt(squares);
    }
  });
  return result;
}

}  // namespace rapt::insight
