#include "rapt/kernels/sum_squares.h"

#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/sum_squares.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

double SumSquares(std::span<const float> x) {
  constexpr size_t kSumLanes = 16;
  const hn::ScalableTag<double> f64;
  const hn::Rebind<float, decltype(f64)> f32;
  constexpr size_t kLanes = hn::MaxLanes(f64), kChains = kSumLanes / kLanes;
  hn::Vec<decltype(f64)> chain[kChains];
  HWY_UNROLL(8) for (size_t c = 0; c < kChains; ++c) chain[c] = hn::Zero(f64);
  const auto add = [&](const float* p) HWY_ATTR {
    HWY_UNROLL(8) for (size_t c = 0; c < kChains; ++c) {
      const auto v = hn::PromoteTo(f64, hn::LoadU(f32, p + c * kLanes));
      chain[c] = hn::MulAdd(v, v, chain[c]);
    }
  };
  size_t i = 0;
  for (; i + kSumLanes <= x.size(); i += kSumLanes) add(x.data() + i);
  if (i < x.size()) {
    float rest[kSumLanes] = {};
    std::memcpy(rest, x.data() + i, (x.size() - i) * sizeof(float));
    add(rest);
  }
  alignas(64) double lanes[kSumLanes];
  HWY_UNROLL(8) for (size_t c = 0; c < kChains; ++c) {
    hn::Store(chain[c], f64, lanes + c * kLanes);
  }
  for (size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(SumSquares);

double sum_squares(std::span<const float> x, Pool& pool) {
  const size_t block = sum_squares_block(x.size()), blocks = (x.size() + block - 1) / block;
  std::array<double, kMostSquareBlocks> partial;
  pool.row_blocks(x.size(), block, [&](size_t begin, size_t end) {
    partial[begin / block] = HWY_DYNAMIC_DISPATCH(SumSquares)(x.subspan(begin, end - begin));
  });
  double total = 0;
  for (size_t b = 0; b < blocks; ++b) total += partial[b];
  return total;
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE
