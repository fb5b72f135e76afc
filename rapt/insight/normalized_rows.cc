#include "rapt/insight/normalized_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "rapt/base/scalar_math.h"
#include "rapt/insight/draws.h"
#include "rapt/ops/layer_norm.h"

namespace rapt::insight {
namespace {

struct Moments {
  double mean = 0, variance = 0;  // with n
};
Moments moments(std::span<const float> x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  for (const float v : x) m.mean += static_cast<double>(v) / n;
  for (const float v : x) {
    const double d = static_cast<double>(v) - m.mean;
    m.variance += d * d / n;
  }
  return m;
}

Tensor filled(size_t size, float value) {
  const Tensor t(MemoryPool::process(), {size});
  std::ranges::fill(t.host(), value);
  return t;
}

Tensor normalized(const Tensor& x, double eps, Pool& pool) {
  Context ctx(Mode::kInference, pool);
  return ops::layer_norm(ctx, x, filled(x.cols(), 1), filled(x.cols(), 0), static_cast<float>(eps))
      .value();
}

// Token t is m + s z with a normal m, and s = 2^u with a normal u. Token 0 is number `first`.
Tensor draw_sentence(size_t tokens, size_t width, uint64_t first, uint64_t seed) {
  const Tensor x(MemoryPool::process(), {tokens, width});
  std::vector<float> own(2);
  for (size_t t = 0; t < tokens; ++t) {
    const uint64_t number = t == 0 ? first : t;
    draw_vector(own, draw_key(seed, "normalization.token"), number, {});
    draw_vector(x.matrix().row(t), draw_key(seed, "normalization.feature"), number, {});
    const auto scale = static_cast<float>(scalar::exp(scalar::kLn2 * static_cast<double>(own[1])));
    for (float& v : x.matrix().row(t)) v = own[0] + scale * v;
  }
  return x;
}

double relative_distance(std::span<const float> x, std::span<const float> y) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    apart += d * d;
    size += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return std::sqrt(apart / size);
}

// `other` is the same sentence with another first token, treated in the same way.
SentenceStatistics statistics_of(const Tensor& x, const Tensor& other) {
  const Moments first = moments(x.matrix().row(0)), all = moments(x.host());
  SentenceStatistics s{
      {first.mean, first.mean}, {first.variance, first.variance}, all.mean, all.variance, 0};
  for (size_t t = 1; t < x.rows(); ++t) {
    const Moments m = moments(x.matrix().row(t));
    s.token_means = {std::min(s.token_means.low, m.mean), std::max(s.token_means.high, m.mean)};
    s.token_variances = {std::min(s.token_variances.low, m.variance),
                         std::max(s.token_variances.high, m.variance)};
  }
  const size_t last = x.rows() - 1;
  s.coupling = relative_distance(x.matrix().row(last), other.matrix().row(last));
  return s;
}

}  // namespace

RowStatistics row_statistics(size_t tokens, size_t width, double eps, uint64_t seed, Pool& pool) {
  const Tensor x = draw_sentence(tokens, width, 0, seed);
  const Tensor other = draw_sentence(tokens, width, tokens, seed);
  const auto after = [&](const Shape& shape) {
    const auto treat = [&](const Tensor& t) {
      return normalized(t.reshape(shape), eps, pool).reshape(t.shape());
    };
    return statistics_of(treat(x), treat(other));
  };
  return {statistics_of(x, other), after({tokens, width}), after({1, tokens * width})};
}

EpsilonStatistics epsilon_statistics(size_t width, double eps, uint64_t seed, Pool& pool) {
  EpsilonStatistics s{};
  std::vector<float> z(width);
  draw_vector(z, draw_key(seed, "normalization.row"), 0, {});
  const Moments m = moments(z);
  for (int power = -10; power <= 2; ++power) {
    const double variance = scalar::exp(power * scalar::kLn10);
    const Tensor x(MemoryPool::process(), {1, width});
    for (size_t i = 0; i < width; ++i) {
      const double unit = (static_cast<double>(z[i]) - m.mean) / std::sqrt(m.variance);
      x.host()[i] = static_cast<float>(std::sqrt(variance) * unit);
    }
    s.variances.push_back(variance);
    s.formula.push_back(variance / (variance + eps));
    s.measured.push_back(moments(normalized(x, eps, pool).host()).variance);
    s.worst = std::max(s.worst, std::abs(s.measured.back() / s.formula.back() - 1));
  }
  const auto percent_nan = [](std::span<const float> y) {
    const auto count = std::ranges::count_if(y, [](float v) { return std::isnan(v); });
    return 100 * static_cast<double>(count) / static_cast<double>(y.size());
  };
  const Tensor constant = filled(width, 3).reshape({1, width});
  const Tensor guarded = normalized(constant, eps, pool);
  for (const float v : guarded.host()) s.constant = std::max(s.constant, std::abs(double{v}));
  s.constant_nan = percent_nan(guarded.host());
  s.unguarded_nan = percent_nan(normalized(constant, 0, pool).host());
  return s;
}

}  // namespace rapt::insight
