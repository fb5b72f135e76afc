// Layer normalisation of one row, for the kernels that normalise.
#if defined(RAPT_KERNELS_LAYER_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_LAYER_NORM_INL_H_
#undef RAPT_KERNELS_LAYER_NORM_INL_H_
#else
#define RAPT_KERNELS_LAYER_NORM_INL_H_
#endif

#include <cmath>
#include <type_traits>

#include "hwy/cache_control.h"
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

struct Moments {
  float mean, rstd;
};

// Writes y from x and the sum of its elements.
HWY_INLINE Moments normalize(std::span<const float> x, float total, std::span<const float> gamma,
                             std::span<const float> beta, float eps, std::span<float> y) {
  const auto size = static_cast<float>(x.size());
  const float mean = total / size;
  const Vec mu = hn::Set(F32(), mean);
  // Two passes: E[x^2] - E[x]^2 cancels in float, and the row is still in L1.
  const auto squared = [&](Vec v) HWY_ATTR { return hn::Mul(hn::Sub(v, mu), hn::Sub(v, mu)); };
  const float rstd = 1.0f / std::sqrt(sum_of(squared, x) / size + eps);
  const Vec scale = hn::Set(F32(), rstd);
  const auto affine = [&](Vec v, Vec g, Vec b)
                          HWY_ATTR { return hn::MulAdd(hn::Mul(hn::Sub(v, mu), scale), g, b); };
  map(affine, y, x, gamma, beta);
  return {mean, rstd};
}

// The gradient of one row: dx[i] = finish(rstd * (g - mean(g) - xhat * mean(g xhat)), more…), and
// what the row adds to dgamma and dbeta. finish gives the vectors of `dx`, one or several outputs,
// which go past the caches if kPast.
template <bool kPast = false, size_t K, class F, class... Rows>
HWY_INLINE void normalize_backward(std::span<const float> x, std::span<const float> gamma,
                                   Moments moments, std::span<const float> dy,
                                   const std::array<std::span<float>, K>& dx,
                                   std::span<float> dgamma, std::span<float> dbeta, const F& finish,
                                   const Rows&... more) {
  const Vec mu = hn::Set(F32(), moments.mean), scale = hn::Set(F32(), moments.rstd);
  const auto normal = [&](Vec v) HWY_ATTR { return hn::Mul(hn::Sub(v, mu), scale); };
  const auto sums = sums_of(
      [&](Vec v, Vec g, Vec d) HWY_ATTR {
        const Vec gd = hn::Mul(g, d);
        return std::array{gd, hn::Mul(gd, normal(v))};
      },
      x, gamma, dy);
  const auto size = static_cast<float>(x.size());
  const Vec mean_g = hn::Set(F32(), sums[0] / size), mean_gx = hn::Set(F32(), sums[1] / size);
  std::array<std::span<float>, K + 2> out;
  for (size_t k = 0; k < K; ++k) out[k] = dx[k];
  out[K] = dgamma;
  out[K + 1] = dbeta;
  map<kPast ? K : 0>(
      [&](Vec v, Vec g, Vec d, Vec sum_gamma, Vec sum_beta, auto... rest) HWY_ATTR {
        const Vec xhat = normal(v);
        const Vec centred = hn::Sub(hn::Mul(g, d), mean_g);
        const Vec grad = hn::Mul(scale, hn::NegMulAdd(xhat, mean_gx, centred));
        const std::array<Vec, K> result = finish(grad, rest...);
        std::array<Vec, K + 2> all;
        HWY_UNROLL(8) for (size_t k = 0; k < K; ++k) all[k] = result[k];
        all[K] = hn::MulAdd(d, xhat, sum_gamma);
        all[K + 1] = hn::Add(d, sum_beta);
        return all;
      },
      out, x, gamma, dy, dgamma, dbeta, more...);
}

// run(true_type()), and all that it wrote past the caches is there for other threads, or
// run(false_type()).
template <class F>
HWY_INLINE void run_past_caches(bool past, const F& run) {
  if (!past) return run(std::false_type());
  run(std::true_type());
  hwy::FlushStream();
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_LAYER_NORM_INL_H_
