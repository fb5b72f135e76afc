// Words in which scalar references are written: *_ref.h files are templates on the number, and run
// on double for values and on dual numbers for derivatives.
#pragma once
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace rapt {

template <class T>
using Row = std::span<const T>;

template <class T, class F>
T sum(Row<T> x, const F& f) {
  T total = T(0);
  for (const T& v : x) total = total + f(v);
  return total;
}
template <class T>
T sum(Row<T> x) {
  return sum(x, [](const T& v) { return v; });
}
template <class T, class F>
T average(Row<T> x, const F& f) {
  return sum(x, f) / T(static_cast<double>(x.size()));
}
template <class T>
T average(Row<T> x) {
  return sum(x) / T(static_cast<double>(x.size()));
}

// f of the elements of rows of one size, element by element.
template <class T, class... More>
requires(sizeof...(More) >= 1) std::vector<T> each(Row<T> x, More... more_and_f) {
  return [&]<size_t... I>(std::index_sequence<I...>, auto&& all) {
    constexpr size_t kRows = sizeof...(More) - 1;
    std::vector<T> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = std::get<kRows>(all)(x[i], std::get<I>(all)[i]...);
    return y;
  }
  (std::make_index_sequence<sizeof...(More) - 1>(), std::forward_as_tuple(more_and_f...));
}

}  // namespace rapt
