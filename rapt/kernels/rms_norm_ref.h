// Root mean square normalisation of one row, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

inline constexpr auto rms_norm_ref(double eps) {
  return [eps]<class T>(Row<T> x, Row<T> gamma) {
    using std::sqrt;
    const T square = average(x, [](T v) { return v * v; });
    return each(x, gamma, [&](T v, T g) { return g * v / sqrt(square + T(eps)); });
  };
}

}  // namespace rapt::kernels
