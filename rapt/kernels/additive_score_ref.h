// Additive scores of one head of one sentence, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

// v . tanh(a + b)
template <class T>
T additive_score_ref(Row<T> a, Row<T> b, Row<T> v) {
  using std::tanh;
  T score = T(0);
  for (size_t c = 0; c < v.size(); ++c) score = score + v[c] * tanh(a[c] + b[c]);
  return score;
}

}  // namespace rapt::kernels
