#include "rapt/kernels/unit_rows.h"

#include <algorithm>
#include <cmath>

#include "rapt/kernels/partials.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/unit_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// Rows [begin, end).
void UnitRows(MatrixView<const float> x, std::span<const float> gain, float eps,
              MatrixView<float> y, MatrixView<float> inverse, size_t begin, size_t end) {
  const size_t heads = inverse.cols(), d = x.cols() / heads;
  for (size_t r = begin; r < end; ++r) {
    for (size_t h = 0; h < heads; ++h) {
      const std::span<const float> from = x.row(r).subspan(h * d, d);
      const auto squared = [](Vec v) HWY_ATTR { return hn::Mul(v, v); };
      const float one = inverse.row(r)[h] = 1.0f / std::sqrt(sum_of(squared, from) + eps);
      const Vec scale = hn::Set(F32(), gain.empty() ? one : gain[h] * one);
      map([&](Vec v) HWY_ATTR { return hn::Mul(v, scale); }, y.row(r).subspan(h * d, d), from);
    }
  }
}

void UnitRowsBackward(MatrixView<const float> x, std::span<const float> gain,
                      MatrixView<const float> inverse, MatrixView<const float> dy,
                      MatrixView<float> dx, std::span<float> dgain, size_t begin, size_t end) {
  const size_t heads = inverse.cols(), d = x.cols() / heads;
  for (size_t r = begin; r < end; ++r) {
    for (size_t h = 0; h < heads; ++h) {
      const std::span<const float> from = x.row(r).subspan(h * d, d);
      const std::span<const float> g = dy.row(r).subspan(h * d, d);
      const float one = inverse.row(r)[h];
      const Vec to_unit = hn::Set(F32(), one);
      const auto product = [&](Vec v, Vec u) HWY_ATTR { return hn::Mul(hn::Mul(v, to_unit), u); };
      const float along = sum_of(product, from, g);  // of dy, along the row
      const Vec drop = hn::Set(F32(), along);
      const Vec scale = hn::Set(F32(), gain.empty() ? one : gain[h] * one);
      const auto gradient = [&](Vec v, Vec u) HWY_ATTR {
        return hn::Mul(scale, hn::NegMulAdd(hn::Mul(v, to_unit), drop, u));
      };
      map(gradient, dx.row(r).subspan(h * d, d), from, g);
      if (!gain.empty()) dgain[h] += along;
    }
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(UnitRows);
HWY_EXPORT(UnitRowsBackward);

void unit_rows(MatrixView<const float> x, std::span<const float> gain, float eps,
               MatrixView<float> y, MatrixView<float> inverse, Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(UnitRows)(x, gain, eps, y, inverse, begin, end);
  });
}

void unit_rows_backward(MatrixView<const float> x, std::span<const float> gain,
                        MatrixView<const float> inverse, MatrixView<const float> dy,
                        MatrixView<float> dx, std::span<float> dgain, MatrixView<float> partial,
                        Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    const std::span<float> sums =
        gain.empty() ? std::span<float>() : partial.row(begin / kRowBlock);
    std::ranges::fill(sums, 0.0f);
    HWY_DYNAMIC_DISPATCH(UnitRowsBackward)(x, gain, inverse, dy, dx, sums, begin, end);
  });
  if (!gain.empty()) add_partials(partial, dgain, pool);
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
