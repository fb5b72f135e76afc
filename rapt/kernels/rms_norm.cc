#include "rapt/kernels/rms_norm.h"

#include <algorithm>
#include <cmath>

#include "rapt/kernels/partials.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/rms_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// Rows [begin, end).
void RmsNorm(MatrixView<const float> x, std::span<const float> gamma, float eps,
             MatrixView<float> y, std::span<float> rrms, size_t begin, size_t end) {
  const auto size = static_cast<float>(x.cols());
  for (size_t r = begin; r < end; ++r) {
    const auto squared = [](Vec v) HWY_ATTR { return hn::Mul(v, v); };
    rrms[r] = 1.0f / std::sqrt(sum_of(squared, x.row(r)) / size + eps);
    const Vec scale = hn::Set(F32(), rrms[r]);
    map([&](Vec v, Vec g) HWY_ATTR { return hn::Mul(hn::Mul(v, scale), g); }, y.row(r), x.row(r),
        gamma);
  }
}

void RmsNormBackward(MatrixView<const float> x, std::span<const float> gamma,
                     std::span<const float> rrms, MatrixView<const float> dy, MatrixView<float> dx,
                     std::span<float> dgamma, size_t begin, size_t end) {
  const auto size = static_cast<float>(x.cols());
  for (size_t r = begin; r < end; ++r) {
    const Vec scale = hn::Set(F32(), rrms[r]);
    const auto projected = [&](Vec v, Vec g, Vec d)
                               HWY_ATTR { return hn::Mul(hn::Mul(g, d), hn::Mul(v, scale)); };
    const Vec mean = hn::Set(F32(), sum_of(projected, x.row(r), gamma, dy.row(r)) / size);
    const auto gradient = [&](Vec v, Vec g, Vec d, Vec sum) HWY_ATTR {
      const Vec xhat = hn::Mul(v, scale);
      const Vec dv = hn::Mul(scale, hn::NegMulAdd(xhat, mean, hn::Mul(g, d)));
      return std::array{dv, hn::MulAdd(d, xhat, sum)};
    };
    map(gradient, std::array{dx.row(r), dgamma}, x.row(r), gamma, dy.row(r), dgamma);
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(RmsNorm);
HWY_EXPORT(RmsNormBackward);

void rms_norm(MatrixView<const float> x, std::span<const float> gamma, float eps,
              MatrixView<float> y, std::span<float> rrms, Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(RmsNorm)(x, gamma, eps, y, rrms, begin, end);
  });
}

void rms_norm_backward(MatrixView<const float> x, std::span<const float> gamma,
                       std::span<const float> rrms, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> dgamma, MatrixView<float> partial,
                       Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    const std::span<float> sums = partial.row(begin / kRowBlock);
    std::ranges::fill(sums, 0.0f);
    HWY_DYNAMIC_DISPATCH(RmsNormBackward)(x, gamma, rrms, dy, dx, sums, begin, end);
  });
  add_partials(partial, dgamma, pool);
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
