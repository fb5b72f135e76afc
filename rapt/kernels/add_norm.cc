#include "rapt/kernels/add_norm.h"

#include "rapt/kernels/partials.h"
#include "rapt/kernels/past_caches.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/add_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/dropout-inl.h"
#include "rapt/kernels/layer_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void AddNorm(float alpha, MatrixView<const float> x, MatrixView<const float> sub,
             const RowDropout& dropout, std::span<const float> gamma, std::span<const float> beta,
             float eps, MatrixView<float> s, MatrixView<float> y, NormStats stats, size_t begin,
             size_t end, float* scratch) {
  const Vec scale = hn::Set(F32(), alpha);
  for_each_row(dropout, begin, end, x.cols(), scratch, [&](size_t r, const auto& factors) HWY_ATTR {
    const auto add = [&](Vec a, Vec b, Vec m)
                         HWY_ATTR { return hn::MulAdd(b, m, hn::Mul(scale, a)); };
    const float total = map_sum(add, s.row(r), x.row(r), sub.row(r), factors);
    const Moments m = normalize(s.row(r), total, gamma, beta, eps, y.row(r));
    stats.mean[r] = m.mean;
    stats.rstd[r] = m.rstd;
  });
}

void AddNormBackward(float alpha, MatrixView<const float> s, std::span<const float> gamma,
                     NormStats stats, MatrixView<const float> dy, MatrixView<const float> ds,
                     const RowDropout& dropout, const AddNormGradient& gradient,
                     std::span<float> dgamma, std::span<float> dbeta, size_t begin, size_t end,
                     float* scratch) {
  const auto row = [&](auto past, size_t r, const auto& out, const auto& finish,
                       const auto&... more) HWY_ATTR {
    normalize_backward<past()>(s.row(r), gamma, {stats.mean[r], stats.rstd[r]}, dy.row(r), out,
                               dgamma, dbeta, finish, more...);
  };
  const auto add = [](Vec g, Vec residual) HWY_ATTR { return std::array{hn::Add(g, residual)}; };
  const Vec scale = hn::Set(F32(), alpha);
  const auto both = [&](Vec g, Vec residual, Vec m) HWY_ATTR {
    const Vec sum = hn::Add(g, residual);
    return std::array{hn::Mul(scale, sum), hn::Mul(sum, m)};
  };
  const MatrixView<float> dx = gradient.dx, dsub = gradient.dsub;
  const auto run = [&](auto past, const auto& residual) HWY_ATTR {
    if (add_norm_shares_gradient(alpha, dropout)) {
      for (size_t r = begin; r < end; ++r) row(past, r, std::array{dx.row(r)}, add, residual(r));
      return;
    }
    for_each_row(dropout, begin, end, s.cols(), scratch,
                 [&](size_t r, const auto& factors) HWY_ATTR {
                   row(past, r, std::array{dx.row(r), dsub.row(r)}, both, residual(r), factors);
                 });
  };
  run_past_caches(goes_past_caches(dx) && goes_past_caches(dsub), [&](auto past) HWY_ATTR {
    if (ds.data() == nullptr) {
      run(past, [](size_t) { return Constant{0.0f}; });
    } else {
      run(past, [&](size_t r) { return ds.row(r); });
    }
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(AddNorm);
HWY_EXPORT(AddNormBackward);

void add_norm(float alpha, MatrixView<const float> x, MatrixView<const float> sub,
              const RowDropout& dropout, std::span<const float> gamma, std::span<const float> beta,
              float eps, MatrixView<float> s, MatrixView<float> y, NormStats stats, Pool& pool) {
  dropout_blocks(x.rows(), x.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(AddNorm)
    (alpha, x, sub, dropout, gamma, beta, eps, s, y, stats, begin, end, scratch);
  });
}

void add_norm_backward(float alpha, MatrixView<const float> s, std::span<const float> gamma,
                       NormStats stats, MatrixView<const float> dy, MatrixView<const float> ds,
                       const RowDropout& dropout, const AddNormGradient& gradient, Pool& pool) {
  const size_t d = s.cols();
  dropout_blocks(s.rows(), d, pool, [&](size_t begin, size_t end, float* scratch) {
    const std::span<float> sums = gradient.partial.row(begin / kRowBlock);
    std::ranges::fill(sums, 0.0f);
    HWY_DYNAMIC_DISPATCH(AddNormBackward)
    (alpha, s, gamma, stats, dy, ds, dropout, gradient, sums.first(d), sums.subspan(d), begin, end,
     scratch);
  });
  add_partials(gradient.partial.slice_cols(0, d), gradient.dgamma, pool);
  add_partials(gradient.partial.slice_cols(d, 2 * d), gradient.dbeta, pool);
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
