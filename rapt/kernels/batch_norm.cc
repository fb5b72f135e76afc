#include "rapt/kernels/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "rapt/kernels/partials.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/batch_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// All of these take rows [begin, end) and columns in lanes.

// Of x less its first row: a chain of many large numbers of one size would round the digits away.
void SumColumns(MatrixView<const float> x, std::span<float> sums, size_t begin, size_t end) {
  const auto add = [](Vec v, Vec first, Vec sum)
                       HWY_ATTR { return hn::Add(sum, hn::Sub(v, first)); };
  for (size_t r = begin; r < end; ++r) map(add, sums, x.row(r), x.row(0), sums);
}

void SumSquares(MatrixView<const float> x, std::span<const float> mean, std::span<float> sums,
                size_t begin, size_t end) {
  const auto add = [](Vec v, Vec mu, Vec sum) HWY_ATTR {
    const Vec centred = hn::Sub(v, mu);
    return hn::MulAdd(centred, centred, sum);
  };
  for (size_t r = begin; r < end; ++r) map(add, sums, x.row(r), mean, sums);
}

void BatchNorm(MatrixView<const float> x, const ColumnStats& stats, std::span<const float> gamma,
               std::span<const float> beta, MatrixView<float> y, size_t begin, size_t end) {
  const auto affine = [](Vec v, Vec mu, Vec rstd, Vec g, Vec b)
                          HWY_ATTR { return hn::MulAdd(hn::Mul(hn::Sub(v, mu), rstd), g, b); };
  for (size_t r = begin; r < end; ++r) {
    map(affine, y.row(r), x.row(r), stats.mean, stats.rstd, gamma, beta);
  }
}

// sums: of dy * xhat, and of dy.
void SumGradients(MatrixView<const float> x, const ColumnStats& stats, MatrixView<const float> dy,
                  std::span<float> dgamma, std::span<float> dbeta, size_t begin, size_t end) {
  const auto add = [](Vec v, Vec mu, Vec rstd, Vec d, Vec sum_gamma, Vec sum_beta) HWY_ATTR {
    const Vec xhat = hn::Mul(hn::Sub(v, mu), rstd);
    return std::array{hn::MulAdd(d, xhat, sum_gamma), hn::Add(d, sum_beta)};
  };
  for (size_t r = begin; r < end; ++r) {
    map(add, std::array{dgamma, dbeta}, x.row(r), stats.mean, stats.rstd, dy.row(r), dgamma, dbeta);
  }
}

// share: 1 / rows of the batch, or 0.
void BatchNormBackward(MatrixView<const float> x, const ColumnStats& stats,
                       std::span<const float> gamma, MatrixView<const float> dy,
                       std::span<const float> dgamma, std::span<const float> dbeta, float share,
                       MatrixView<float> dx, size_t begin, size_t end) {
  const Vec n = hn::Set(F32(), share);
  const auto gradient = [&](Vec v, Vec mu, Vec rstd, Vec g, Vec d, Vec sum_gamma, Vec sum_beta)
                            HWY_ATTR {
                              const Vec xhat = hn::Mul(hn::Sub(v, mu), rstd);
                              const Vec centred = hn::NegMulAdd(sum_beta, n, d);
                              const Vec rest = hn::NegMulAdd(xhat, hn::Mul(sum_gamma, n), centred);
                              return hn::Mul(hn::Mul(g, rstd), rest);
                            };
  for (size_t r = begin; r < end; ++r) {
    map(gradient, dx.row(r), x.row(r), stats.mean, stats.rstd, gamma, dy.row(r), dgamma, dbeta);
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(SumColumns);
HWY_EXPORT(SumSquares);
HWY_EXPORT(BatchNorm);
HWY_EXPORT(SumGradients);
HWY_EXPORT(BatchNormBackward);

namespace {

// total = the sum over blocks of rows of what f(sums, begin, end) adds to zeros.
template <class F>
void sum_blocks(size_t rows, MatrixView<float> partial, std::span<float> total, Pool& pool,
                const F& f) {
  pool.row_blocks(rows, kRowBlock, [&](size_t begin, size_t end) {
    const std::span<float> sums = partial.row(begin / kRowBlock);
    std::ranges::fill(sums, 0.0f);
    f(sums, begin, end);
  });
  std::ranges::fill(total, 0.0f);
  add_partials(partial, total, pool);
}

}  // namespace

void column_moments(MatrixView<const float> x, std::span<float> mean, std::span<float> var,
                    MatrixView<float> partial, Pool& pool) {
  const auto rows = static_cast<float>(x.rows());
  sum_blocks(x.rows(), partial, mean, pool, [&](std::span<float> sums, size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(SumColumns)(x, sums, begin, end);
  });
  std::ranges::transform(mean, x.row(0), mean.begin(),
                         [rows](float sum, float first) { return first + sum / rows; });
  sum_blocks(x.rows(), partial, var, pool, [&](std::span<float> sums, size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(SumSquares)(x, mean, sums, begin, end);
  });
  for (float& v : var) v /= rows;
}

void reciprocal_deviation(std::span<const float> var, float eps, std::span<float> rstd) {
  std::ranges::transform(var, rstd.begin(), [eps](float v) { return 1.0f / std::sqrt(v + eps); });
}

void batch_norm(MatrixView<const float> x, const ColumnStats& stats, std::span<const float> gamma,
                std::span<const float> beta, MatrixView<float> y, Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(BatchNorm)(x, stats, gamma, beta, y, begin, end);
  });
}

void batch_norm_backward(MatrixView<const float> x, const ColumnStats& stats, bool of_batch,
                         std::span<const float> gamma, MatrixView<const float> dy,
                         const BatchNormGradient& gradient, Pool& pool) {
  const size_t d = x.cols();
  sum_blocks(x.rows(), gradient.partial, gradient.sums, pool,
             [&](std::span<float> sums, size_t begin, size_t end) {
               HWY_DYNAMIC_DISPATCH(SumGradients)
               (x, stats, dy, sums.first(d), sums.subspan(d), begin, end);
             });
  const std::span<const float> dgamma = gradient.sums.first(d), dbeta = gradient.sums.subspan(d);
  const float share = of_batch ? 1.0f / static_cast<float>(x.rows()) : 0.0f;
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(BatchNormBackward)
    (x, stats, gamma, dy, dgamma, dbeta, share, gradient.dx, begin, end);
  });
  std::ranges::transform(gradient.dgamma, dgamma, gradient.dgamma.begin(), std::plus());
  std::ranges::transform(gradient.dbeta, dbeta, gradient.dbeta.begin(), std::plus());
}

void move_average(std::span<float> average, float momentum, float factor,
                  std::span<const float> value) {
  std::ranges::transform(average, value, average.begin(), [=](float a, float v) {
    return (1 - momentum) * a + momentum * (factor * v);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
