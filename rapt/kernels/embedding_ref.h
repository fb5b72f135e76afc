// The embedding of one token for any number; positions and factors of dropout are rows.
#pragma once
#include "rapt/base/row.h"

namespace rapt::kernels {

inline auto embedding_ref(double scale) {
  return [scale]<class T>(Row<T> table, Row<T> position, Row<double> keep) {
    return each(table, position, keep,
                [&](T e, T p, double m) { return T(m) * (T(scale) * e + p); });
  };
}

}  // namespace rapt::kernels
