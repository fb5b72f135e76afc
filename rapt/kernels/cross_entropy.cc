#include "rapt/kernels/cross_entropy.h"

#include <cassert>

#include "rapt/base/scalar_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/cross_entropy.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void CrossEntropyRow(std::span<float> z, size_t target, SmoothingWeights weights, bool gradient,
                     double& smoothed, double& nll) {
  const F32 f32;
  const float top = maximum(z), at_target = z[target] - top;
  const Vec shift = hn::Set(f32, top);
  // sum of exp(z - top), which takes the place of z if its gradient is wanted, and of z - top.
  // Meanwhile the next row is requested: its maximum would wait for memory.
  const auto sums = row::accumulate<2>(z.size(), [&](auto at, size_t i) HWY_ATTR {
    __builtin_prefetch(z.data() + z.size() + i, 1, 2);
    const Vec v = hn::Sub(at.load(z.data() + i), shift), e = exp_nonpositive(v);
    if (gradient) at.store(e, z.data() + i);
    return std::array{e, v};
  });
  const double lse = scalar::log(sums[0]), classes = static_cast<double>(z.size());
  nll = lse - at_target;
  smoothed = (1.0 - weights.e) * nll;
  if (weights.u != 0) smoothed += weights.u * (classes * lse - sums[1]);
  if (!gradient) return;
  const Vec inverse = hn::Set(f32, 1.0f / sums[0]), u = hn::Set(f32, weights.u);
  map([&](Vec e) HWY_ATTR { return hn::Sub(hn::Mul(e, inverse), u); }, z,
      std::span<const float>(z));
  z[target] -= 1.0f - weights.e;
}

void AddScaled(float factor, std::span<const float> x, std::span<float> y) {
  const Vec f = hn::Set(F32(), factor);
  map([&](Vec v, Vec sum) HWY_ATTR { return hn::MulAdd(f, v, sum); }, y, x,
      std::span<const float>(y));
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(CrossEntropyRow);
HWY_EXPORT(AddScaled);

namespace {
constexpr size_t kRowsATask = 8;  // no sum crosses rows, so this changes no bit
constexpr size_t kElementsATask = size_t{1} << 14;
}  // namespace

void cross_entropy(MatrixView<float> z, std::span<const int32_t> targets, SmoothingWeights weights,
                   bool gradient, RowLosses losses, Pool& pool) {
  assert(targets.size() == z.rows() && losses.nll.size() == z.rows() &&
         losses.smoothed.size() == z.rows());
  const auto of_row = HWY_DYNAMIC_DISPATCH(CrossEntropyRow);
  pool.row_blocks(z.rows(), kRowsATask, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      of_row(z.row(r), static_cast<size_t>(targets[r]), weights, gradient, losses.smoothed[r],
             losses.nll[r]);
    }
  });
}

double sum_of_rows(std::span<const double> values) {
  double total = 0;
  for (size_t begin = 0; begin < values.size(); begin += kRowBlock) {
    double block = 0;
    for (const double v : values.subspan(begin, std::min(kRowBlock, values.size() - begin))) {
      block += v;
    }
    total += block;
  }
  return total;
}

void add_scaled(float factor, std::span<const float> x, std::span<float> y, Pool& pool) {
  assert(x.size() == y.size());
  const auto run = HWY_DYNAMIC_DISPATCH(AddScaled);
  pool.row_blocks(x.size(), kElementsATask, [&](size_t begin, size_t end) {
    run(factor, x.subspan(begin, end - begin), y.subspan(begin, end - begin));
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
