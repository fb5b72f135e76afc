#include "rapt/kernels/adam.h"

#include <cassert>
#include <cmath>

#include "rapt/base/scalar_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/adam.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// What the arguments come to in float, each rounded once.
struct AdamFactors {
  explicit AdamFactors(const AdamArgs& a)
      : grad_scale(static_cast<float>(a.grad_scale)),
        l2(static_cast<float>(a.decoupled ? 0.0 : a.weight_decay)),
        shrink(static_cast<float>(a.decoupled ? 1.0 - a.lr * a.weight_decay : 1.0)),
        gain1(static_cast<float>(1.0 - a.beta1)),
        beta2(static_cast<float>(a.beta2)),
        gain2(static_cast<float>(1.0 - a.beta2)),
        root(static_cast<float>(1.0 / std::sqrt(1.0 - power(a.beta2, a.step)))),
        eps(static_cast<float>(a.eps)),
        rate(static_cast<float>(a.lr / (1.0 - power(a.beta1, a.step)))),
        ema_gain(static_cast<float>(1.0 - a.ema_decay)) {}
  static double power(double beta, uint64_t t) {
    return beta == 0 ? 0.0 : scalar::pow(beta, static_cast<double>(t));
  }
  float grad_scale, l2, shrink, gain1, beta2, gain2, root, eps, rate, ema_gain;
};

// Elements [begin, end).
void Adam(const AdamArgs& args, const AdamTensors& t, size_t begin, size_t end) {
  const F32 f32;
  const AdamFactors a(args);
  const Vec grad_scale = hn::Set(f32, a.grad_scale), l2 = hn::Set(f32, a.l2);
  const Vec shrink = hn::Set(f32, a.shrink), gain1 = hn::Set(f32, a.gain1);
  const Vec beta2 = hn::Set(f32, a.beta2), gain2 = hn::Set(f32, a.gain2);
  const Vec root = hn::Set(f32, a.root), eps = hn::Set(f32, a.eps), rate = hn::Set(f32, a.rate);
  // {p, 0, m, v}
  const auto update = [&](Vec p, Vec g, Vec m, Vec v) HWY_ATTR {
    g = hn::MulAdd(l2, p, hn::Mul(g, grad_scale));
    m = hn::MulAdd(gain1, hn::Sub(g, m), m);
    v = hn::MulAdd(hn::Mul(gain2, g), g, hn::Mul(beta2, v));
    const Vec ratio = hn::Div(m, hn::MulAdd(hn::Sqrt(v), root, eps));
    return std::array{hn::NegMulAdd(rate, ratio, hn::Mul(p, shrink)), hn::Zero(F32()), m, v};
  };
  const auto cut = [&](std::span<float> x) { return x.subspan(begin, end - begin); };
  const std::span<float> p = cut(t.p), g = cut(t.gradient), m = cut(t.m), v = cut(t.v);
  if (t.ema.empty()) {
    map(update, std::array{p, g, m, v}, p, g, m, v);
    return;
  }
  const Vec ema_gain = hn::Set(f32, a.ema_gain);
  const std::span<float> ema = cut(t.ema);
  const auto with_average = [&](Vec p, Vec g, Vec m, Vec v, Vec average) HWY_ATTR {
    const std::array<Vec, 4> u = update(p, g, m, v);
    const Vec next = hn::MulAdd(ema_gain, hn::Sub(u[0], average), average);
    return std::array{u[0], u[1], u[2], u[3], next};
  };
  map(with_average, std::array{p, g, m, v, ema}, p, g, m, v, ema);
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(Adam);

void adam(const AdamArgs& args, const AdamTensors& t, Pool& pool) {
  assert(t.gradient.size() == t.p.size() && t.m.size() == t.p.size() && t.v.size() == t.p.size());
  assert(t.ema.empty() || t.ema.size() == t.p.size());
  constexpr size_t kElements = size_t{1} << 14;
  pool.row_blocks(t.p.size(), kElements, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(Adam)(args, t, begin, end);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
