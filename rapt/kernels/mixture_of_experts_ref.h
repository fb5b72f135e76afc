// A mixture of experts as scalar formulas, for any number.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "rapt/base/row.h"

namespace rapt::kernels {

// Columns of the k largest values, ascending; of equal ones the lower.
template <class T>
std::vector<size_t> top_k_ref(Row<T> x, size_t k) {
  std::vector<size_t> columns(x.size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  std::ranges::stable_sort(columns, [&](size_t a, size_t b) { return x[a] > x[b]; });
  columns.resize(k);
  std::ranges::sort(columns);
  return columns;
}

// N sum of load_c mean_c, from the means of the columns.
template <class T>
T expert_balance_ref(Row<T> mean, Row<double> load) {
  T total(0);
  for (size_t c = 0; c < mean.size(); ++c) total += T(load[c]) * mean[c];
  return T(static_cast<double>(mean.size())) * total;
}

// Row by row the k experts with the highest scores, weighted by the softmax of these scores, and the
// balance of all. network(e, r): row r through expert e, a matrix of one row.
template <class Matrix, class Network>
auto experts_ref(const Matrix& scores, size_t k, const Network& network) {
  using std::exp;
  using T = typename decltype(Matrix::data)::value_type;
  struct Result {
    Matrix y;
    T balance;
  } result;
  const size_t rows = scores.rows(), n = scores.cols();
  std::vector<double> load(n);
  std::vector<T> mean(n, T(0));
  for (size_t r = 0; r < rows; ++r) {
    const auto power = [&](size_t e) { return exp(scores(r, e)); };
    const std::vector<size_t> chosen = top_k_ref(scores.row(r), k);
    T all(0), total(0);
    for (size_t e = 0; e < n; ++e) all += power(e);
    for (const size_t e : chosen) total += power(e);
    for (const size_t e : chosen) {
      const Matrix out = network(e, r);
      if (result.y.data.empty()) result.y = Matrix({rows, out.cols()});
      for (size_t c = 0; c < out.cols(); ++c) result.y(r, c) += power(e) / total * out(0, c);
      load[e] += 1 / static_cast<double>(rows * k);
    }
    for (size_t e = 0; e < n; ++e) mean[e] += power(e) / all / T(static_cast<double>(rows));
  }
  result.balance = expert_balance_ref(Row<T>(mean), Row<double>(load));
  return result;
}

}  // namespace rapt::kernels
