// A gated product and dropout of one row, for any number. `keep` is a row of factors.
#pragma once
#include "rapt/base/row.h"
#include "rapt/kernels/activation_ref.h"

namespace rapt::kernels {

inline auto gated_ref(Activation activation) {
  return [activation]<class T>(Row<T> a, Row<T> b, Row<double> keep) {
    return each(a, b, keep,
                [&](T gate, T v, double m) { return T(m) * activation_ref(activation, gate) * v; });
  };
}

}  // namespace rapt::kernels
