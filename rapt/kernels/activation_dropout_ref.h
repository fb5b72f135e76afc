// An activation and dropout of one row, for any number. `keep` is a row of factors.
#pragma once
#include "rapt/base/row.h"
#include "rapt/kernels/activation_ref.h"

namespace rapt::kernels {

inline auto activation_dropout_ref(Activation activation) {
  return [activation]<class T>(Row<T> x, Row<double> keep) {
    return each(x, keep, [&](T v, double m) { return T(m) * activation_ref(activation, v); });
  };
}

}  // namespace rapt::kernels
