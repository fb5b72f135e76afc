#include "rapt/insight/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rapt/base/check.h"

namespace rapt::insight {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

Summary summarize(std::span<const double> values) {
  check(values.size() >= 2, "statistics of ", values.size(), " values, expected at least 2");
  const double n = static_cast<double>(values.size()), mean = mean_of(values);
  double second = 0, fourth = 0;
  for (const double v : values) {
    const double square = (v - mean) * (v - mean);
    second += square;
    fourth += square * square;
  }
  return {values.size(), mean, second / (n - 1), fourth / n};
}

double Summary::deviation() const { return std::sqrt(variance); }

Interval Summary::mean_interval() const {
  const double half = kZ * std::sqrt(variance / static_cast<double>(count));
  return {mean - half, mean + half};
}

Interval Summary::variance_interval() const {
  const double n = static_cast<double>(count);
  const double spread = std::max(fourth_moment - variance * variance, 0.0);
  const double half = kZ * std::sqrt(spread / n) + kZ * kZ * variance / n;
  return {variance - half, variance + half};
}

double quantile(std::span<const double> values, double share) {
  check(!values.empty(), "quantile of no values, expected at least one");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace rapt::insight
