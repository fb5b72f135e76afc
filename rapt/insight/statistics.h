// Mean and variance of independent draws, each with an interval that covers the truth in 99.9 % of
// experiments: wide enough for a dozen of them to be right at once.
#pragma once
#include <cstddef>
#include <span>

namespace rapt::insight {

inline constexpr double kConfidence = 0.999;
inline constexpr double kZ = 3.2905267314918945;  // normal quantile of (1 + kConfidence) / 2

struct Interval {
  double low, high;
  bool contains(double v) const { return low <= v && v <= high; }
};

struct Summary {
  size_t count;
  double mean;
  double variance;       // with n - 1
  double fourth_moment;  // central, with n

  double deviation() const;
  // mean ± z s / sqrt(n)
  Interval mean_interval() const;
  // s^2 ± (z sqrt((m4 - s^4) / n) + z^2 s^2 / n): the asymptotic interval, right for draws of any
  // distribution with a fourth moment. The second term is the error of the mean, squared; it counts
  // where the first vanishes, as for values of one size.
  Interval variance_interval() const;
};

Summary summarize(std::span<const double> values);  // at least two

double mean_of(std::span<const double> values);
// The value below which a share of the values lies, between two of them by a straight line.
double quantile(std::span<const double> values, double share);

}  // namespace rapt::insight
