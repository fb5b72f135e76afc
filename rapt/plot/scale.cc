#include "rapt/plot/scale.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "rapt/base/check.h"
#include "rapt/base/scalar_math.h"

namespace rapt::plot {
namespace {

double log10(double v) { return scalar::log(v) / scalar::kLn10; }

// digit 10^exponent, divided where that is exact: 3 / 10, not 3 * 0.1.
double decimal(double digit, int exponent) {
  return exponent < 0 ? digit / scalar::pow(10, -exponent) : digit * scalar::pow(10, exponent);
}

// A step of 1, 2 or 5 times a power of ten.
struct Step {
  double digit;
  int exponent;
  double size() const { return decimal(digit, exponent); }
};

// The least step that is not below `size` > 0.
Step step_above(double size) {
  const int exponent = static_cast<int>(std::floor(log10(size) + 1e-9));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (decimal(digit, exponent) >= size * (1 - 1e-9)) return {digit, exponent};
  }
  return {1, exponent + 1};
}

// The greatest step that is not above `size` > 0.
Step step_below(double size) {
  const int exponent = static_cast<int>(std::floor(log10(size) + 1e-9));
  for (const double digit : {5.0, 2.0}) {
    if (decimal(digit, exponent) <= size * (1 + 1e-9)) return {digit, exponent};
  }
  return {1, exponent};
}

std::string fixed(double v, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, v == 0 ? 0.0 : v);
  return text;
}

// Thousands are k, millions M, for all marks of an axis alike.
struct Unit {
  int exponent;
  const char* suffix;
};
Unit unit_for(double greatest) {
  if (greatest >= 1e16) return {0, nullptr};
  if (greatest >= 1e10) return {9, "G"};
  if (greatest >= 1e7) return {6, "M"};
  if (greatest >= 1e4) return {3, "k"};
  return {0, ""};
}

std::string label(double v, int exponent, double greatest) {
  const Unit unit = unit_for(greatest);
  const int decimals = std::max(0, unit.exponent - exponent);
  if (unit.suffix == nullptr || decimals > 5) return format_value(v, 6);
  const std::string number = fixed(v / scalar::pow(10, unit.exponent), decimals);
  return v == 0 ? number : number + unit.suffix;
}

std::vector<Tick> linear_ticks(Range range, Step step) {
  const double size = step.size(), slack = 1e-9 * size;
  const double first = std::ceil((range.low - slack) / size);
  const double last = std::floor((range.high + slack) / size);
  const double greatest = std::max(std::fabs(range.low), std::fabs(range.high));
  std::vector<Tick> ticks;
  for (double i = first; i <= last; ++i) {
    const double v = decimal(i * step.digit, step.exponent);
    ticks.push_back({v, label(v, step.exponent, greatest)});
  }
  return ticks;
}

// 1, 2 and 5 times the powers of ten, or every n-th power: the most that are not too many, but two
// where that can be.
std::vector<Tick> log_ticks(Range range, size_t most) {
  const int first = static_cast<int>(std::ceil(log10(range.low) - 1e-9));
  const int last = static_cast<int>(std::floor(log10(range.high) + 1e-9));
  const auto add = [&](std::vector<Tick>& ticks, double digit, int exponent) {
    const double v = decimal(digit, exponent);
    if (v < range.low * (1 - 1e-9) || v > range.high * (1 + 1e-9)) return;
    ticks.push_back({v, label(v, exponent, v)});
  };
  std::vector<Tick> ticks;
  for (int e = first - 1; e <= last; ++e) {
    for (const double digit : {1.0, 2.0, 5.0}) add(ticks, digit, e);
  }
  for (int stride = 1; ticks.size() > most; ++stride) {
    std::vector<Tick> fewer;
    for (int e = first; e <= last; e += stride) add(fewer, 1, e);
    if (fewer.size() < 2) break;
    ticks = std::move(fewer);
  }
  return ticks;
}

}  // namespace

Scale::Scale(const Axis& axis, Range range, size_t ticks) : logarithmic_(axis.logarithmic) {
  range_ = axis.range.value_or(range);
  check(range_.low < range_.high && std::isfinite(range_.high - range_.low), "plot: axis '",
        axis.label, "' runs from ", range_.low, " to ", range_.high,
        ", expected finite ends, the first below the second");
  check(!logarithmic_ || range_.low > 0, "plot: logarithmic axis '", axis.label, "' starts at ",
        range_.low, ", expected a positive value");
  const size_t most = std::max<size_t>(ticks, 2);
  if (logarithmic_) {
    if (!axis.range) range_ = {step_below(range_.low).size(), step_above(range_.high).size()};
    ticks_ = log_ticks(range_, most);
    if (ticks_.size() < 2) {  // an axis of less than an octave, given by the caller
      ticks_ =
          linear_ticks(range_, step_above((range_.high - range_.low) / static_cast<double>(most)));
    }
    origin_ = log10(range_.low);
    length_ = log10(range_.high) - origin_;
  } else {
    const Step step = step_above((range_.high - range_.low) / static_cast<double>(most));
    if (!axis.range) {
      const double size = step.size();
      range_ = {decimal(std::floor(range_.low / size + 1e-9) * step.digit, step.exponent),
                decimal(std::ceil(range_.high / size - 1e-9) * step.digit, step.exponent)};
    }
    ticks_ = linear_ticks(range_, step);
    origin_ = range_.low;
    length_ = range_.high - range_.low;
  }
}

double Scale::operator()(double v) const {
  if (!std::isfinite(v) || (logarithmic_ && v <= 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return ((logarithmic_ ? log10(v) : v) - origin_) / length_;
}

std::string format_value(double v, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, v == 0 ? 0.0 : v);
  return text;
}

std::string format_short(double v) {
  const Unit unit = unit_for(std::fabs(v));
  if (unit.suffix == nullptr) return format_value(v);
  return format_value(v / scalar::pow(10, unit.exponent)) + unit.suffix;
}

std::string format_exactly(double v) {
  char text[64];
  const auto result = std::to_chars(text, text + sizeof text, v);
  return {text, result.ptr};
}

}  // namespace rapt::plot
