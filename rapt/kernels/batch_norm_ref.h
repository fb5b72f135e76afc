// Batch normalisation of one column, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

// With given statistics, as in evaluation.
template <class T>
std::vector<T> normalize_column_ref(Row<T> column, T mean, T var, double eps, T gamma, T beta) {
  using std::sqrt;
  return each(column, column,
              [&](T v, T) { return gamma * (v - mean) / sqrt(var + T(eps)) + beta; });
}

// With its own.
template <class T>
std::vector<T> batch_norm_ref(Row<T> column, double eps, T gamma, T beta) {
  const T mean = average(column);
  const T var = average(column, [&](T v) { return (v - mean) * (v - mean); });
  return normalize_column_ref(column, mean, var, eps, gamma, beta);
}

}  // namespace rapt::kernels
