#include "rapt/kernels/peak.h"

#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/peak.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

double MultiplyAdds(size_t rounds) {
  const F32 f32;
  constexpr size_t kChains = 12;
  const Vec x = hn::Set(f32, 0.999f), y = hn::Set(f32, 0.0001f);
  Vec chain[kChains];
  HWY_UNROLL(12) for (size_t i = 0; i < kChains; ++i) {
    chain[i] = hn::Set(f32, static_cast<float>(i));
  }
  for (size_t n = 0; n < rounds; ++n) {
    HWY_UNROLL(12) for (size_t i = 0; i < kChains; ++i) chain[i] = hn::MulAdd(chain[i], x, y);
  }
  Vec sum = chain[0];
  HWY_UNROLL(12) for (size_t i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  volatile float used = hn::GetLane(sum);  // or the compiler drops the loop
  static_cast<void>(used);
  return static_cast<double>(rounds * kChains * 2 * hn::Lanes(f32));
}

void Copy(std::span<const float> from, std::span<float> to) {
  map([](Vec v) HWY_ATTR { return v; }, to, from);
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(Copy);

double multiply_adds(size_t rounds) { return HWY_DYNAMIC_DISPATCH(MultiplyAdds)(rounds); }
void copy(std::span<const float> from, std::span<float> to) {
  assert(from.size() == to.size());
  HWY_DYNAMIC_DISPATCH(Copy)(from, to);
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
