// y = c tanh(x / c) of one row, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

inline constexpr auto tanh_ref(double bound) {
  return [bound]<class T>(Row<T> x) {
    using std::tanh;
    return each(x, [&](T v) { return T(bound) * tanh(v / T(bound)); });
  };
}

}  // namespace rapt::kernels
