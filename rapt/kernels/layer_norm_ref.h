// Layer normalisation of one row, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

inline constexpr auto layer_norm_ref(double eps) {
  return [eps]<class T>(Row<T> x, Row<T> gamma, Row<T> beta) {
    using std::sqrt;
    const T mean = average(x), var = average(x, [&](T v) { return (v - mean) * (v - mean); });
    return each(x, gamma, beta,
                [&](T v, T g, T b) { return g * (v - mean) / sqrt(var + T(eps)) + b; });
  };
}

}  // namespace rapt::kernels
