// Softmax of one row and its logarithm, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

inline constexpr auto log_softmax_ref = []<class T>(Row<T> x) {
  using std::exp, std::log;
  T max = x[0];
  for (const T& v : x) max = v > max ? v : max;
  const T lse = max + log(sum(x, [&](T v) { return exp(v - max); }));
  return each(x, [&](T v) { return v - lse; });
};

inline constexpr auto softmax_ref = []<class T>(Row<T> x) {
  using std::exp;
  const std::vector<T> y = log_softmax_ref(x);
  return each(Row<T>(y), [](T v) { return exp(v); });
};

}  // namespace rapt::kernels
