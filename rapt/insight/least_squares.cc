#include "rapt/insight/least_squares.h"

#include <cmath>
#include <vector>

#include "rapt/base/check.h"

namespace rapt::insight {
namespace {

using Rows = std::vector<std::vector<double>>;

std::vector<double> column_means(MatrixView<const float> x, size_t rows) {
  std::vector<double> means(x.cols());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < x.cols(); ++c) means[c] += static_cast<double>(x.row(r)[c]);
  }
  for (double& mean : means) mean /= static_cast<double>(rows);
  return means;
}

Rows centred(MatrixView<const float> x, const std::vector<double>& means) {
  Rows rows(x.rows(), std::vector<double>(x.cols()));
  for (size_t r = 0; r < x.rows(); ++r) {
    for (size_t c = 0; c < x.cols(); ++c) rows[r][c] = static_cast<double>(x.row(r)[c]) - means[c];
  }
  return rows;
}

double squares(const Rows& x, size_t begin, size_t end) {
  double sum = 0;
  for (size_t r = begin; r < end; ++r) {
    for (const double v : x[r]) sum += v * v;
  }
  return sum;
}

// a^T b over the first rows.
Rows product(const Rows& a, const Rows& b, size_t rows) {
  Rows c(a[0].size(), std::vector<double>(b[0].size()));
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < c.size(); ++i) {
      for (size_t j = 0; j < c[i].size(); ++j) c[i][j] += a[r][i] * b[r][j];
    }
  }
  return c;
}

// The solution of a w = b in place of b, for a symmetric and positive definite: a = l l^T
// (Cholesky), l in place of a.
void solve(Rows& a, Rows& b) {
  const size_t n = a.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  }
  for (size_t c = 0; c < b[0].size(); ++c) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < i; ++k) b[i][c] -= a[i][k] * b[k][c];
      b[i][c] /= a[i][i];
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t k = i + 1; k < n; ++k) b[i][c] -= a[k][i] * b[k][c];
      b[i][c] /= a[i][i];
    }
  }
}

}  // namespace

double read_out(MatrixView<const float> x, MatrixView<const float> y, size_t fitted) {
  check(x.rows() == y.rows() && fitted >= 1 && fitted < x.rows(), "read_out: ", x.rows(),
        " rows of x, ", y.rows(), " of y, of which ", fitted, " are fitted");
  Rows inputs = centred(x, column_means(x, fitted));
  const Rows targets = centred(y, column_means(y, fitted));
  const double spread = squares(inputs, 0, fitted) / static_cast<double>(fitted * x.cols());
  if (spread == 0) return 0;
  const double scale = 1 / std::sqrt(spread);
  for (auto& row : inputs) {
    for (double& v : row) v *= scale;
  }

  Rows gram = product(inputs, inputs, fitted), weights = product(inputs, targets, fitted);
  constexpr double kRidge = 1e-6;  // of a variance of 1
  for (size_t i = 0; i < gram.size(); ++i) gram[i][i] += kRidge * static_cast<double>(fitted);
  solve(gram, weights);

  Rows errors = targets;
  for (size_t r = fitted; r < errors.size(); ++r) {
    for (size_t i = 0; i < weights.size(); ++i) {
      for (size_t c = 0; c < errors[r].size(); ++c) errors[r][c] -= inputs[r][i] * weights[i][c];
    }
  }
  return 1 - squares(errors, fitted, x.rows()) / squares(targets, fitted, x.rows());
}

}  // namespace rapt::insight
