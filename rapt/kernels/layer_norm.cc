#include "rapt/kernels/layer_norm.h"

#include <algorithm>

#include "rapt/kernels/partials.h"
#include "rapt/kernels/past_caches.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/layer_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/layer_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// Rows [begin, end).
void LayerNorm(MatrixView<const float> x, std::span<const float> gamma, std::span<const float> beta,
               float eps, MatrixView<float> y, NormStats stats, size_t begin, size_t end) {
  for (size_t r = begin; r < end; ++r) {
    const Moments m = normalize(x.row(r), sum(x.row(r)), gamma, beta, eps, y.row(r));
    stats.mean[r] = m.mean;
    stats.rstd[r] = m.rstd;
  }
}

void LayerNormBackward(MatrixView<const float> x, std::span<const float> gamma, NormStats stats,
                       MatrixView<const float> dy, MatrixView<float> dx, std::span<float> dgamma,
                       std::span<float> dbeta, size_t begin, size_t end) {
  run_past_caches(goes_past_caches(dx), [&](auto past) HWY_ATTR {
    for (size_t r = begin; r < end; ++r) {
      normalize_backward<past()>(x.row(r), gamma, {stats.mean[r], stats.rstd[r]}, dy.row(r),
                                 std::array{dx.row(r)}, dgamma, dbeta,
                                 [](Vec g) HWY_ATTR { return std::array{g}; });
    }
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(LayerNorm);
HWY_EXPORT(LayerNormBackward);

void layer_norm(MatrixView<const float> x, std::span<const float> gamma,
                std::span<const float> beta, float eps, MatrixView<float> y, NormStats stats,
                Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(LayerNorm)(x, gamma, beta, eps, y, stats, begin, end);
  });
}

void layer_norm_backward(MatrixView<const float> x, std::span<const float> gamma, NormStats stats,
                         MatrixView<const float> dy, MatrixView<float> dx, std::span<float> dgamma,
                         std::span<float> dbeta, MatrixView<float> partial, Pool& pool) {
  const size_t d = x.cols();
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    const std::span<float> sums = partial.row(begin / kRowBlock);
    std::ranges::fill(sums, 0.0f);
    HWY_DYNAMIC_DISPATCH(LayerNormBackward)
    (x, gamma, stats, dy, dx, sums.first(d), sums.subspan(d), begin, end);
  });
  add_partials(partial.slice_cols(0, d), dgamma, pool);
  add_partials(partial.slice_cols(d, 2 * d), dbeta, pool);
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
