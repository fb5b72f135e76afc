// Axes: which values are marked, how they are written, and where a value lies.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "rapt/plot/figure.h"

namespace rapt::plot {

struct Tick {
  double value;
  std::string label;
};

// Maps values to [0, 1], linearly or by the logarithm.
class Scale {
 public:
  // For data in `range`, widened to round ends unless the axis names its own; at most about `ticks`
  // marks at multiples of 1, 2 or 5 times a power of ten, or at powers of ten.
  Scale(const Axis& axis, Range range, size_t ticks);

  // The place of v, possibly outside [0, 1]; NaN when there is none.
  double operator()(double v) const;
  Range range() const { return range_; }
  const std::vector<Tick>& ticks() const { return ticks_; }  // rising, inside the range

 private:
  Range range_;
  bool logarithmic_;
  double origin_, length_;  // of the range, in logarithms where those rule
  std::vector<Tick> ticks_;
};

// The shortest text that tells v to `digits` significant digits: "0.125", "1500", "2.5e-07".
std::string format_value(double v, int digits = 4);

// Four significant digits, with k, M or G for thousands and more: "123.5k".
std::string format_short(double v);

// The shortest text that reads back as v.
std::string format_exactly(double v);

}  // namespace rapt::plot
