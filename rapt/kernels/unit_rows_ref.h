// Rows of `heads` vectors scaled to length 1, times their gain, for any number.
#pragma once
#include <cmath>

#include "rapt/base/row.h"

namespace rapt::kernels {

// An empty gain is 1.
inline constexpr auto unit_rows_ref(size_t heads, double eps) {
  return [heads, eps]<class T>(Row<T> x, Row<T> gain) {
    using std::sqrt;
    std::vector<T> y;
    const size_t d = x.size() / heads;
    for (size_t h = 0; h < heads; ++h) {
      const Row<T> head = x.subspan(h * d, d);
      const T length = sqrt(sum(head, [](T v) { return v * v; }) + T(eps));
      for (const T& v : head) y.push_back((gain.empty() ? T(1) : gain[h]) * v / length);
    }
    return y;
  };
}

}  // namespace rapt::kernels
