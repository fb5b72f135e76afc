// Elementary functions of float vectors, for one SIMD target. Own minimax polynomials, one fixed
// order of operations and no more than + - * / fma: the same bits on every target with FMA. NaN in,
// NaN out. Include after foreach_target.h.
//
//   function           error in ulp   without FMA
//   exp2, exp          1.0            1.25          0 below 2^-126, infinity above 2^128
//   exp2_nonpositive   the same bits as exp2 and exp, for x <= 0 only: cheaper
//   exp_nonpositive
//   log2, log          1.0            2.0, 1.0      -infinity below 2^-126, NaN below 0
//   erf                1.25           1.5
//   tanh               1.5            1.5
//   sigmoid            2.25           2.25
//   normal_cdf         1.25           1.5           for x >= 0; below, the relative error grows
//                                                   to 2^-16; 0 below -6.5 (where it is 4e-11)
//
// simd_math_test.cc holds them to these figures. Numbers below 2^-126, also intermediate ones, are
// 0.
#if defined(RAPT_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_SIMD_MATH_INL_H_
#undef RAPT_KERNELS_SIMD_MATH_INL_H_
#else
#define RAPT_KERNELS_SIMD_MATH_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;

namespace math {

using I32 = hn::ScalableTag<int32_t>;

// b where it is larger than a, else a, also where b is NaN. On x86 that is the maximum of b and a,
// in this order; elsewhere Max would lose a NaN of a, or keep one of b.
HWY_INLINE Vec larger(Vec a, Vec b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  return hn::Max(b, a);
#else
  return hn::IfThenElse(hn::Lt(a, b), b, a);
#endif
}
// The smaller or larger of x and a bound. Min and Max would lose a NaN on some targets.
HWY_INLINE Vec at_least(Vec x, float bound) { return larger(x, hn::Set(F32(), bound)); }
HWY_INLINE Vec at_most(Vec x, float bound) {
  const Vec b = hn::Set(F32(), bound);
  return hn::IfThenElse(hn::Gt(x, b), b, x);
}

// Coefficients from the highest power down.
template <class... Lower>
HWY_INLINE Vec horner(Vec x, float highest, Lower... lower) {
  Vec p = hn::Set(F32(), highest);
  ((p = hn::MulAdd(p, x, hn::Set(F32(), lower))), ...);
  return p;
}

// 2^f for |f| <= 1/2 and e^r for |r| <= ln 2 / 2.
HWY_INLINE Vec exp2_fraction(Vec f) {
  return horner(f, 0x1.4b3646p-13f, 0x1.5faa02p-10f, 0x1.3b222cp-7f, 0x1.c6adc4p-5f, 0x1.ebfbe6p-3f,
                0x1.62e432p-1f, 1.0f);
}
HWY_INLINE Vec exp_fraction(Vec r) {
  return horner(r, 0x1.6ac810p-10f, 0x1.123de8p-7f, 0x1.555858p-5f, 0x1.55548cp-3f, 0x1.fffffcp-2f,
                1.0f, 1.0f);
}

// Adding it rounds to an integer n, whose bits n + 127 are then the lowest ones of the sum: shifted
// by 23 they are the number 2^n.
inline constexpr float kRound = 0x1.8p23f + 127.0f;
inline constexpr float kLog2E = 0x1.715476p+0f, kLog2ELow = 0x1.4ae0cp-26f;
// ln 2 in two parts; n times the first one is exact without FMA as well.
inline constexpr float kLn2 = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;

HWY_INLINE Vec scale_of(Vec rounded) {
  return hn::BitCast(F32(), hn::ShiftLeft<23>(hn::BitCast(I32(), rounded)));
}
// p 2^n in two exact steps, as 2^n itself may be no normal number.
HWY_INLINE Vec scale_wide(Vec p, Vec rounded) {
  const auto bias = hn::Set(I32(), 127);
  const auto magic = hn::BitCast(I32(), hn::Set(F32(), 0x1.8p23f));
  const auto n = hn::Sub(hn::Sub(hn::BitCast(I32(), rounded), magic), bias);
  const auto half = hn::ShiftRight<1>(n), rest = hn::Sub(n, half);
  const auto power = [&](auto k) HWY_ATTR {
    return hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Add(k, bias)));
  };
  return hn::Mul(hn::Mul(p, power(half)), power(rest));
}

struct Reduced {
  Vec rounded, rest;
};
HWY_INLINE Reduced reduce_exp2(Vec x) {
  const Vec rounded = hn::Add(x, hn::Set(F32(), kRound));
  return {rounded, hn::Sub(x, hn::Sub(rounded, hn::Set(F32(), kRound)))};
}
HWY_INLINE Reduced reduce_exp(Vec x) {
  const Vec round = hn::Set(F32(), kRound);
  const Vec rounded = hn::MulAdd(x, hn::Set(F32(), kLog2E), round);
  const Vec n = hn::Sub(rounded, round);
  const Vec rest = hn::NegMulAdd(n, hn::Set(F32(), kLn2), x);
  return {rounded, hn::NegMulAdd(n, hn::Set(F32(), kLn2Low), rest)};
}
// e^x for -88 <= x <= 88.
HWY_INLINE Vec exp_in_range(Vec x) {
  const Reduced r = reduce_exp(x);
  return hn::Mul(exp_fraction(r.rest), scale_of(r.rounded));
}

// x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and ln(1 + f) = f + tail.
struct LogParts {
  Vec e, f, tail;
};
HWY_INLINE LogParts log_parts(Vec x) {
  const auto bits = hn::BitCast(I32(), x);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(I32(), 0x3F3504F3)));
  const Vec m = hn::BitCast(F32(), hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const Vec f = hn::Sub(m, hn::Set(F32(), 1.0f)), square = hn::Mul(f, f);
  const Vec p = horner(f, -0x1.36c6a4p-4f, 0x1.0540eap-3f, -0x1.0d998p-3f, 0x1.22d616p-3f,
                       -0x1.547226p-3f, 0x1.99a036p-3f, -0x1.000228p-2f, 0x1.555554p-2f);
  const Vec half = hn::Mul(square, hn::Set(F32(), -0.5f));
  return {hn::ConvertTo(F32(), e), f, hn::MulAdd(hn::Mul(square, f), p, half)};
}
HWY_INLINE Vec log_special(Vec x, Vec log) {
  const Vec infinity = hn::Set(F32(), std::numeric_limits<float>::infinity());
  const Vec nan = hn::Set(F32(), std::numeric_limits<float>::quiet_NaN());
  const Vec none = hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), nan, hn::Neg(infinity));
  log = hn::IfThenElse(hn::Lt(x, hn::Set(F32(), std::numeric_limits<float>::min())), none, log);
  return hn::IfThenElse(hn::Lt(x, infinity), log, x);
}

}  // namespace math

HWY_INLINE Vec exp2_nonpositive(Vec x) {
  const math::Reduced r = math::reduce_exp2(math::at_least(x, -127.0f));
  return hn::Mul(math::exp2_fraction(r.rest), math::scale_of(r.rounded));
}

HWY_INLINE Vec exp2(Vec x) {
  const math::Reduced r = math::reduce_exp2(math::at_most(math::at_least(x, -152.0f), 129.0f));
  return math::scale_wide(math::exp2_fraction(r.rest), r.rounded);
}

HWY_INLINE Vec exp_nonpositive(Vec x) { return math::exp_in_range(math::at_least(x, -88.0f)); }

HWY_INLINE Vec exp(Vec x) {
  const math::Reduced r = math::reduce_exp(math::at_most(math::at_least(x, -105.0f), 89.0f));
  return math::scale_wide(math::exp_fraction(r.rest), r.rounded);
}

HWY_INLINE Vec log2(Vec x) {
  const math::LogParts l = math::log_parts(x);
  const Vec log2e = hn::Set(F32(), math::kLog2E), low = hn::Set(F32(), math::kLog2ELow);
  const Vec fine = hn::MulAdd(l.f, low, hn::Mul(l.tail, log2e));
  return math::log_special(x, hn::Add(hn::MulAdd(l.f, log2e, fine), l.e));
}

HWY_INLINE Vec log(Vec x) {
  const math::LogParts l = math::log_parts(x);
  const Vec tail = hn::MulAdd(l.e, hn::Set(F32(), math::kLn2Low), l.tail);
  return math::log_special(x, hn::MulAdd(l.e, hn::Set(F32(), math::kLn2), hn::Add(l.f, tail)));
}

// Up to 7/8 an odd polynomial, above 1 - 2^(-t q(t)).
HWY_INLINE Vec erf(Vec x) {
  const Vec square = hn::Mul(x, x), magnitude = hn::Abs(x);
  const Vec p = math::horner(square, -0x1.3ba5bcp-11f, 0x1.479c1cp-8f, -0x1.b69b8ep-6f,
                             0x1.ce1b86p-4f, -0x1.8126ecp-2f, 0x1.06eba6p-3f);
  const Vec t = math::at_most(magnitude, 4.0f);  // erf(4) is 1
  const Vec q = math::horner(t, 0x1.c57f18p-17f, -0x1.cc6e5ep-12f, 0x1.516292p-8f, -0x1.17017ap-5f,
                             0x1.395e5ep-3f, 0x1.d53d1ap-1f, 0x1.a0d59p+0f);
  const Vec rest = exp2_nonpositive(hn::Neg(hn::Mul(t, q)));
  const Vec large = hn::CopySign(hn::Sub(hn::Set(F32(), 1.0f), rest), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(F32(), 0.875f)), hn::MulAdd(p, x, x), large);
}

// The normal distribution's P(X <= x) = (1 + erf(x / sqrt 2)) / 2 = 2^(-1 - t s(t)) with t = -x for
// x < 0: no cancellation, and one exponential.
HWY_INLINE Vec normal_cdf(Vec x) {
  const Vec magnitude = hn::Abs(x), t = math::at_most(magnitude, 6.5f);
  const Vec s = math::horner(t, -0x1.6a38bap-29f, 0x1.a9d158p-24f, -0x1.b9aeb2p-20f,
                             0x1.085c0ep-16f, -0x1.8902bep-14f, 0x1.4c62c4p-12f, -0x1.8c5922p-15f,
                             -0x1.c527e8p-8f, 0x1.ad84dcp-5f, 0x1.d63e1cp-2f, 0x1.26aec6p+0f);
  const Vec below = exp2_nonpositive(hn::NegMulAdd(t, s, hn::Set(F32(), -1.0f)));
  const Vec tail = hn::IfThenZeroElse(hn::Gt(magnitude, hn::Set(F32(), 6.5f)), below);
  const Vec rest = hn::Sub(hn::Set(F32(), 1.0f), tail);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), tail, rest);
}

// Up to 0.55 an odd polynomial, above 1 - 2 / (e^2x + 1).
HWY_INLINE Vec tanh(Vec x) {
  const Vec square = hn::Mul(x, x), magnitude = hn::Abs(x), one = hn::Set(F32(), 1.0f);
  const Vec p = math::horner(square, -0x1.992198p-8f, 0x1.58e518p-6f, -0x1.b91e7ep-5f,
                             0x1.110ceep-3f, -0x1.55554ap-2f);
  const Vec t = math::at_most(magnitude, 10.0f);
  const Vec e = math::exp_in_range(hn::Add(t, t));
  const Vec large = hn::Sub(one, hn::Div(hn::Set(F32(), 2.0f), hn::Add(e, one)));
  const Vec small = hn::MulAdd(hn::Mul(square, x), p, x);
  const auto is_small = hn::Lt(magnitude, hn::Set(F32(), 0.55f));
  return hn::CopySign(hn::IfThenElse(is_small, small, large), x);
}

// 1 / (1 + e^-x)
HWY_INLINE Vec sigmoid(Vec x) {
  const Vec one = hn::Set(F32(), 1.0f);
  const Vec bounded = math::at_most(math::at_least(x, -88.0f), 88.0f);
  return hn::Div(one, hn::Add(one, math::exp_in_range(hn::Neg(bounded))));
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_SIMD_MATH_INL_H_
