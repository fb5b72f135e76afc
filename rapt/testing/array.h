// Values with a shape, of any number: what scalar references of whole operations take and give.
#pragma once
#include <vector>

#include "rapt/base/row.h"
#include "rapt/tensor/tensor.h"

namespace rapt::testing {

template <class T>
struct Array {
  Shape shape;
  std::vector<T> data;

  Array() = default;
  explicit Array(Shape s) : shape(s), data(s.elements(), T(0)) {}
  size_t rows() const { return shape.rows(); }
  size_t cols() const { return shape.back(); }
  T& operator()(size_t r, size_t c) { return data[r * cols() + c]; }
  const T& operator()(size_t r, size_t c) const { return data[r * cols() + c]; }
  Row<T> row(size_t r) const { return {data.data() + r * cols(), cols()}; }
};

// A reference that works on one row, as one on whole arrays: matrices give it their rows one after
// another, vectors are given whole each time.
template <class F>
auto by_row(const F& f) {
  return [f]<class T, class... More>(const Array<T>& x, const More&... more) {
    const auto row = []<class U>(const Array<U>& a, size_t r) {
      return a.shape.rank() < 2 ? a.row(0) : a.row(r);
    };
    Array<T> y;
    for (size_t r = 0; r < x.rows(); ++r) {
      const std::vector<T> values = f(row(x, r), row(more, r)...);
      y.shape = {x.rows(), values.size()};
      y.data.insert(y.data.end(), values.begin(), values.end());
    }
    return y;
  };
}

}  // namespace rapt::testing
