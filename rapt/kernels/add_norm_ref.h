// Residual, dropout and layer normalisation of one row, for any number. `keep` is a row of factors.
#pragma once
#include "rapt/kernels/layer_norm_ref.h"

namespace rapt::kernels {

template <class T>
std::vector<T> add_dropout_ref(Row<T> x, Row<T> sub, Row<double> keep) {
  return each(x, sub, keep, [](T a, T b, double m) { return a + T(m) * b; });
}

inline constexpr auto add_norm_ref(double eps, double alpha = 1) {
  return [eps, alpha]<class T>(Row<T> x, Row<T> sub, Row<double> keep, Row<T> gamma, Row<T> beta) {
    const std::vector<T> s =
        each(x, sub, keep, [&](T a, T b, double m) { return T(alpha) * a + T(m) * b; });
    return layer_norm_ref(eps)(Row<T>(s), gamma, beta);
  };
}

}  // namespace rapt::kernels
