// Sinusoidal positions by their formula, with the functions of the standard library.
#pragma once
#include <cmath>

#include "rapt/nn/positions.h"

namespace rapt::nn {

// Column c of position t. Vaswani et al. divide by 10000^(2i/d); with halves, as in tensor2tensor, by
// 10000^(i/(d/2-1)).
inline double sinusoid_ref(size_t t, size_t c, size_t d, PositionLayout layout) {
  const bool halves = layout == PositionLayout::kHalves;
  const size_t pair = halves ? c % (d / 2) : c / 2;
  const bool cosine = halves ? c >= d / 2 : c % 2 == 1;
  const double exponent = halves ? static_cast<double>(pair) / static_cast<double>(d / 2 - 1)
                                 : static_cast<double>(2 * pair) / static_cast<double>(d);
  const double angle = static_cast<double>(t) * std::pow(10000.0, -exponent);
  return cosine ? std::cos(angle) : std::sin(angle);
}

}  // namespace rapt::nn
