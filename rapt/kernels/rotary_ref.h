// Rotary positions of one head's row, for any number; and the bits of one element.
#pragma once
#include <cmath>
#include <vector>

#include "rapt/base/row.h"
#include "rapt/kernels/rotary.h"

namespace rapt::kernels {

// The pair of column c of a head, and the column that it is turned with.
struct RotaryColumn {
  size_t pair, partner;
  bool first;  // of its pair
  RotaryColumn(size_t c, size_t dim, RotaryPairs pairs)
      : pair(pairs == RotaryPairs::kHalves ? c % (dim / 2) : c / 2),
        partner(pairs == RotaryPairs::kHalves ? (c + dim / 2) % dim : c ^ 1),
        first(c < partner) {}
};

// Position t times base^(-2 pair / dim).
inline double rotary_angle(size_t t, size_t pair, size_t dim, double base) {
  return static_cast<double>(t) *
         std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}

template <class T>
std::vector<T> rotary_ref(Row<T> x, size_t t, double base, RotaryPairs pairs) {
  std::vector<T> y(x.size());
  for (size_t c = 0; c < x.size(); ++c) {
    const RotaryColumn column(c, x.size(), pairs);
    const double angle = rotary_angle(t, column.pair, x.size(), base);
    const double sine = column.first ? -std::sin(angle) : std::sin(angle);
    y[c] = x[c] * T(std::cos(angle)) + x[column.partner] * T(sine);
  }
  return y;
}

inline float rotary_bits(float x, float partner, float c, float s) {
  return std::fma(x, c, partner * s);
}

}  // namespace rapt::kernels
