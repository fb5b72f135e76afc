// The activations of activation.h for one SIMD target. Include after foreach_target.h.
#if defined(RAPT_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ACTIVATION_INL_H_
#undef RAPT_KERNELS_ACTIVATION_INL_H_
#else
#define RAPT_KERNELS_ACTIVATION_INL_H_
#endif

#include "rapt/kernels/activation.h"
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

template <Activation kActivation>
HWY_INLINE Vec activate(Vec x) {
  if constexpr (kActivation == Activation::kNone) {
    return x;
  } else if constexpr (kActivation == Activation::kRelu) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(F32())), x);
  } else if constexpr (kActivation == Activation::kGelu) {
    return hn::Mul(x, normal_cdf(x));
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    const Vec c1 = hn::Set(F32(), 1.5957691216f), c3 = hn::Set(F32(), 0.0713548162726f);
    return hn::Mul(x, sigmoid(hn::Mul(x, hn::MulAdd(c3, hn::Mul(x, x), c1))));
  } else if constexpr (kActivation == Activation::kSilu) {
    return hn::Mul(x, sigmoid(x));
  } else {
    static_assert(kActivation == Activation::kSigmoid);
    return sigmoid(x);
  }
}

// dx = dy * act'(x); `saved` is x, or for kRelu the output, which has the same sign.
template <Activation kActivation>
HWY_INLINE Vec activate_backward(Vec saved, Vec dy) {
  const F32 f32;
  if constexpr (kActivation == Activation::kNone) {
    return dy;
  } else if constexpr (kActivation == Activation::kRelu) {
    return hn::IfThenZeroElse(hn::Le(saved, hn::Zero(f32)), dy);
  } else if constexpr (kActivation == Activation::kGelu) {
    const Vec exponent = hn::Mul(hn::Mul(saved, saved), hn::Set(f32, -0.5f));
    const Vec density = hn::Mul(exp_nonpositive(exponent), hn::Set(f32, 0.3989422804f));
    return hn::Mul(dy, hn::MulAdd(saved, density, normal_cdf(saved)));
  } else if constexpr (kActivation == Activation::kSigmoid) {
    const Vec s = sigmoid(saved);
    return hn::Mul(dy, hn::NegMulAdd(s, s, s));
  } else {
    Vec w = saved, slope = hn::Set(f32, 1.0f);
    if constexpr (kActivation == Activation::kGeluTanh) {
      const Vec c1 = hn::Set(f32, 1.5957691216f), square = hn::Mul(saved, saved);
      w = hn::Mul(saved, hn::MulAdd(hn::Set(f32, 0.0713548162726f), square, c1));
      slope = hn::MulAdd(hn::Set(f32, 3 * 0.0713548162726f), square, c1);
    }
    const Vec s = sigmoid(w);
    const Vec bend = hn::Mul(hn::Mul(saved, slope), hn::NegMulAdd(s, s, s));  // x w' s (1 - s)
    return hn::Mul(dy, hn::Add(s, bend));
  }
}

// f.operator()<activation>()
template <class F>
HWY_INLINE void with_activation(Activation activation, const F& f) {
  switch (activation) {
    case Activation::kNone:
      return f.template operator()<Activation::kNone>();
    case Activation::kRelu:
      return f.template operator()<Activation::kRelu>();
    case Activation::kGelu:
      return f.template operator()<Activation::kGelu>();
    case Activation::kGeluTanh:
      return f.template operator()<Activation::kGeluTanh>();
    case Activation::kSilu:
      return f.template operator()<Activation::kSilu>();
    case Activation::kSigmoid:
      return f.template operator()<Activation::kSigmoid>();
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ACTIVATION_INL_H_
