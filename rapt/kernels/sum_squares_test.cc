#include "rapt/kernels/sum_squares.h"

#include <bit>
#include <cmath>
#include <limits>

#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

using namespace testing;

// The definition.
double ordered(std::span<const float> x) {
  const size_t block = sum_squares_block(x.size());
  double total = 0;
  for (size_t begin = 0; begin < x.size(); begin += block) {
    double lanes[16] = {};
    for (size_t i = begin; i < std::min(x.size(), begin + block); ++i) {
      lanes[(i - begin) % 16] += static_cast<double>(x[i]) * x[i];
    }
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    total += lanes[0];
  }
  return total;
}

TEST(SumSquares, AddsInTheOrderOfItsDefinitionOnEveryTargetAndForAnyThreads) {
  for (const size_t n : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{33}, size_t{1000},
                         (size_t{1} << 14) * 300 + 5}) {
    const Tensor x = random_tensor({n}, 1);
    const double expected = ordered(x.host());
    for_each_simd_target([&] {
      for (const size_t threads : {1, 2, 3}) {
        Pool pool(threads);
        EXPECT_EQ(std::bit_cast<uint64_t>(sum_squares(x.span(), pool)),
                  std::bit_cast<uint64_t>(expected))
            << n;
      }
    });
  }
}

TEST(SumSquares, LargeGradientsDoNotOverflow) {
  const Tensor x = Tensor::zeros({3});
  std::ranges::fill(x.host(), 3e38f);
  EXPECT_NEAR(sum_squares(x.span(), test_pool()) / 27e76, 1.0, 1e-6);
}

TEST(SumSquares, ShowsWhatIsNotFinite) {
  for_each_simd_target([] {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      for (const size_t at : {0, 17, 99}) {
        const Tensor x = random_tensor({100}, 1);
        x.host()[at] = bad;
        EXPECT_FALSE(std::isfinite(sum_squares(x.span(), test_pool())));
      }
    }
  });
}

}  // namespace
}  // namespace rapt::kernels
