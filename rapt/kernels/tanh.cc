#include "rapt/kernels/tanh.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/tanh.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Tanh(std::span<const float> x, float bound, std::span<float> y) {
  const Vec outer = hn::Set(F32(), bound), inner = hn::Set(F32(), 1.0f / bound);
  map([&](Vec v) HWY_ATTR { return hn::Mul(outer, tanh(hn::Mul(inner, v))); }, y, x);
}

void TanhBackward(std::span<const float> y, float bound, std::span<const float> dy,
                  std::span<float> dx) {
  const Vec inner = hn::Set(F32(), 1.0f / bound);
  const auto gradient = [&](Vec v, Vec d) HWY_ATTR {
    const Vec t = hn::Mul(inner, v);
    return hn::NegMulAdd(hn::Mul(t, t), d, d);
  };
  map(gradient, dx, y, dy);
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(Tanh);
HWY_EXPORT(TanhBackward);

namespace {
constexpr size_t kElements = size_t{1} << 12;
}

void tanh(std::span<const float> x, float bound, std::span<float> y, Pool& pool) {
  pool.row_blocks(y.size(), kElements, [&](size_t begin, size_t end) {
    const size_t n = end - begin;
    HWY_DYNAMIC_DISPATCH(Tanh)(x.subspan(begin, n), bound, y.subspan(begin, n));
  });
}

void tanh_backward(std::span<const float> y, float bound, std::span<const float> dy,
                   std::span<float> dx, Pool& pool) {
  pool.row_blocks(dx.size(), kElements, [&](size_t begin, size_t end) {
    const size_t n = end - begin;
    HWY_DYNAMIC_DISPATCH(TanhBackward)
    (y.subspan(begin, n), bound, dy.subspan(begin, n), dx.subspan(begin, n));
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
