#include "rapt/kernels/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/elementwise.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Add(std::span<const float> a, std::span<const float> b, std::span<float> y) {
  map([](Vec u, Vec v) HWY_ATTR { return hn::Add(u, v); }, y, a, b);
}

void Scale(std::span<const float> x, float factor, std::span<float> y) {
  const Vec f = hn::Set(F32(), factor);
  map([&](Vec v) HWY_ATTR { return hn::Mul(v, f); }, y, x);
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(Add);
HWY_EXPORT(Scale);

namespace {
constexpr size_t kElements = size_t{1} << 14;
}

void add(std::span<const float> a, std::span<const float> b, std::span<float> y, Pool& pool) {
  pool.row_blocks(y.size(), kElements, [&](size_t begin, size_t end) {
    const size_t n = end - begin;
    HWY_DYNAMIC_DISPATCH(Add)(a.subspan(begin, n), b.subspan(begin, n), y.subspan(begin, n));
  });
}

void scale(std::span<const float> x, float factor, std::span<float> y, Pool& pool) {
  pool.row_blocks(y.size(), kElements, [&](size_t begin, size_t end) {
    const size_t n = end - begin;
    HWY_DYNAMIC_DISPATCH(Scale)(x.subspan(begin, n), factor, y.subspan(begin, n));
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
