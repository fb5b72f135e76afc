// The scalar reference of cross_entropy.h, of one row, on any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

template <class T>
struct CrossEntropyRef {
  T smoothed, nll;
};

template <class T>
CrossEntropyRef<T> cross_entropy_ref(Row<T> z, size_t target, double e, double u) {
  using std::exp, std::log;
  T top = z[0];
  for (const T& v : z) top = v > top ? v : top;
  const T lse = top + log(sum(z, [&](const T& v) { return exp(v - top); }));
  const T nll = lse - z[target];
  return {T(1 - e) * nll + T(u) * sum(z, [&](const T& v) { return lse - v; }), nll};
}

}  // namespace rapt::kernels
