// The loops of row-wise kernels. `map` and `sum_of` own whole vectors, the tail and the order of
// summation; a kernel gives the formula of one vector, as a lambda marked HWY_ATTR.
//
//   map(f, y, a, b)                y[i] = f(a[i], b[i])
//   map(f, array{y, z}, a, b)      f gives an array of vectors, one an output
//   sum_of(f, a, b)                sum over i of f(a[i], b[i])
//   sums_of(f, a, b)               several at once: f gives an array
//   map<k>(f, array{y, z}, a, b)   the first k go past the caches: rows aligned, FlushStream() after
//   map_sum(f, y, a, b)            map, and the sum of what it wrote
//   maximum(a)                     of numbers; whether a NaN is seen depends on where it is
//
// All rows of a call have one size. A row is a span of floats, or an object whose vector(i) gives
// the values from i on. Outputs may alias inputs.
//
// Order of summation, the same on every target: element i joins virtual lane i mod 32, which starts
// at 0; then the lanes fold in halves, lane l += lane l + 16, + 8, + 4, + 2, + 1. Of 16, 32 and 64
// lanes, timed on layer_norm with AVX2 and AVX-512: 16 wait for each other's additions (10 to 15 %
// slower at d >= 512), 64 take too long to fold (10 to 20 % slower at d <= 128). The number is part
// of every result: it never changes.
#if defined(RAPT_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_SIMD_INL_H_
#undef RAPT_KERNELS_SIMD_INL_H_
#else
#define RAPT_KERNELS_SIMD_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>

#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;

namespace row {

inline constexpr size_t kSumLanes = 32;
inline constexpr size_t kLanes = hn::MaxLanes(F32());  // arrays of vectors need a fixed size
inline constexpr size_t kChains = kSumLanes / kLanes;

// How a vector of a row is read and written: all of it, or the first n lanes, where the others read
// as 0 and are not written.
struct Whole {
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(F32(), p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::StoreU(v, F32(), p); }
  HWY_INLINE void store_past(Vec v, float* p) const { hn::Stream(v, F32(), p); }
  HWY_INLINE Vec keep(Vec v) const { return v; }
};
struct Part {
  size_t n;
  HWY_INLINE void store_past(Vec v, float* p) const { store(v, p); }
  HWY_INLINE Vec keep(Vec v) const { return hn::IfThenElseZero(hn::FirstN(F32(), n), v); }
#if HWY_TARGET <= HWY_AVX2
  HWY_INLINE Vec load(const float* p) const {
    return hn::MaskedLoad(hn::FirstN(F32(), n), F32(), p);
  }
  HWY_INLINE void store(Vec v, float* p) const {
    hn::BlendedStore(v, hn::FirstN(F32(), n), F32(), p);
  }
#else  // no masked access: through the stack
  HWY_INLINE Vec load(const float* p) const {
    alignas(64) float lanes[kLanes] = {};
    std::memcpy(lanes, p, n * sizeof(float));
    return hn::Load(F32(), lanes);
  }
  HWY_INLINE void store(Vec v, float* p) const {
    alignas(64) float lanes[kLanes];
    hn::Store(v, F32(), lanes);
    std::memcpy(p, lanes, n * sizeof(float));
  }
#endif
};

template <class At>
HWY_INLINE Vec load(At at, std::span<const float> row, size_t i) {
  return at.load(row.data() + i);
}
template <class At, class Row>
requires requires(const Row& row) { row.vector(size_t{}); }
HWY_INLINE Vec load(At, const Row& row, size_t i) { return row.vector(i); }

template <size_t kPast, class At>
HWY_INLINE void store(At at, Vec v, std::span<float> row, size_t i) {
  at.store(v, row.data() + i);
}
template <size_t kPast, class At, size_t K>
HWY_INLINE void store(At at, const std::array<Vec, K>& v,
                      const std::array<std::span<float>, K>& rows, size_t i) {
  HWY_UNROLL(8) for (size_t k = 0; k < kPast; ++k) at.store_past(v[k], rows[k].data() + i);
  HWY_UNROLL(8) for (size_t k = kPast; k < K; ++k) at.store(v[k], rows[k].data() + i);
}

HWY_INLINE size_t size_of(std::span<const float> row) { return row.size(); }
template <size_t K>
HWY_INLINE size_t size_of(const std::array<std::span<float>, K>& rows) {
  return rows[0].size();
}

// The sum of the lanes of v, by halves.
template <size_t n>
HWY_INLINE float fold(hn::Vec<hn::CappedTag<float, n>> v) {
  if constexpr (n > 4) {
    const hn::CappedTag<float, n / 2> half;
    return fold<n / 2>(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    v = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(v, hn::Shuffle2301(v)));
  }
}

// Sums of f(at, i), an array of K vectors, over all vectors i of rows of n floats.
template <size_t K, class F>
HWY_INLINE std::array<float, K> accumulate(size_t n, const F& f) {
  Vec chain[K][kChains];
  HWY_UNROLL(8) for (size_t k = 0; k < K; ++k) {
    HWY_UNROLL(8) for (size_t c = 0; c < kChains; ++c) chain[k][c] = hn::Zero(F32());
  }
  size_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    HWY_UNROLL(8) for (size_t c = 0; c < kChains; ++c) {
      const std::array<Vec, K> v = f(Whole(), i + c * kLanes);
      HWY_UNROLL(8) for (size_t k = 0; k < K; ++k) chain[k][c] = hn::Add(chain[k][c], v[k]);
    }
  }
  if (i < n) {  // a lane without an element adds 0, which changes no bit: no sum is ever -0
    alignas(64) float rest[K][kSumLanes] = {};
    const auto keep = [&](auto at, size_t lane) HWY_ATTR {
      const std::array<Vec, K> v = f(at, i + lane);
      HWY_UNROLL(8) for (size_t k = 0; k < K; ++k) hn::Store(at.keep(v[k]), F32(), rest[k] + lane);
    };
    size_t lane = 0;
    for (; i + lane + kLanes <= n; lane += kLanes) keep(Whole(), lane);
    if (i + lane < n) keep(Part{n - i - lane}, lane);
    HWY_UNROLL(8) for (size_t k = 0; k < K; ++k) {
      HWY_UNROLL(8) for (size_t c = 0; c < kChains; ++c) {
        chain[k][c] = hn::Add(chain[k][c], hn::Load(F32(), rest[k] + c * kLanes));
      }
    }
  }
  std::array<float, K> sums;
  HWY_UNROLL(8) for (size_t k = 0; k < K; ++k) {
    HWY_UNROLL(4) for (size_t half = kChains / 2; half > 0; half /= 2) {
      HWY_UNROLL(8) for (size_t c = 0; c < half; ++c) {
        chain[k][c] = hn::Add(chain[k][c], chain[k][c + half]);
      }
    }
    sums[k] = fold<kLanes>(chain[k][0]);
  }
  return sums;
}

}  // namespace row

template <size_t kPast = 0, class F, class Out, class... Rows>
HWY_INLINE void map(const F& f, const Out& out, const Rows&... rows) {
  const size_t n = row::size_of(out);
  size_t i = 0;
  for (; i + row::kLanes <= n; i += row::kLanes) {
    row::store<kPast>(row::Whole(), f(row::load(row::Whole(), rows, i)...), out, i);
  }
  if (i < n) {
    const row::Part part{n - i};
    row::store<kPast>(part, f(row::load(part, rows, i)...), out, i);
  }
}

template <class F, class... Rows>
HWY_INLINE auto sums_of(const F& f, std::span<const float> first, const Rows&... rows) {
  constexpr size_t kSums =
      std::tuple_size_v<decltype(f(hn::Zero(F32()), row::load(row::Whole(), rows, 0)...))>;
  return row::accumulate<kSums>(first.size(), [&](auto at, size_t i) HWY_ATTR {
    return f(row::load(at, first, i), row::load(at, rows, i)...);
  });
}

template <class F, class... Rows>
HWY_INLINE float sum_of(const F& f, std::span<const float> first, const Rows&... rows) {
  return row::accumulate<1>(first.size(), [&](auto at, size_t i) HWY_ATTR {
    return std::array{f(row::load(at, first, i), row::load(at, rows, i)...)};
  })[0];
}

HWY_INLINE float sum(std::span<const float> x) {
  return sum_of([](Vec v) HWY_ATTR { return v; }, x);
}

template <class F, class... Rows>
HWY_INLINE float map_sum(const F& f, std::span<float> out, const Rows&... rows) {
  return row::accumulate<1>(out.size(), [&](auto at, size_t i) HWY_ATTR {
    const Vec v = f(row::load(at, rows, i)...);
    at.store(v, out.data() + i);
    return std::array{v};
  })[0];
}

HWY_INLINE float maximum(std::span<const float> x) {
  constexpr size_t kTops = 4;  // a chain alone would wait for every comparison
  Vec tops[kTops];
  for (Vec& top : tops) top = hn::Set(F32(), -std::numeric_limits<float>::infinity());
  const auto take = [&](Vec& top, size_t i)
                        HWY_ATTR { top = math::larger(top, hn::LoadU(F32(), x.data() + i)); };
  size_t i = 0;
  for (; i + kTops * row::kLanes <= x.size(); i += kTops * row::kLanes) {
    HWY_UNROLL(4) for (size_t c = 0; c < kTops; ++c) take(tops[c], i + c * row::kLanes);
  }
  for (; i + row::kLanes <= x.size(); i += row::kLanes) take(tops[0], i);
  for (size_t c = 1; c < kTops; ++c) tops[0] = math::larger(tops[0], tops[c]);
  alignas(64) float lanes[row::kLanes];
  hn::Store(tops[0], F32(), lanes);
  float result = lanes[0];
  for (const float lane : lanes) result = lane > result ? lane : result;
  for (; i < x.size(); ++i) result = x[i] > result ? x[i] : result;
  return result;
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_SIMD_INL_H_
