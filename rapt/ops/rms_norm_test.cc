#include "rapt/ops/rms_norm.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/rms_norm_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::rms_norm_ref;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr auto rms_norm = [](auto&&... args) { return ops::rms_norm(args..., 1e-5f); };

TEST(RmsNorm, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 3, 8, 17, 100, 512}) {
      expect_values(rms_norm, by_row(rms_norm_ref(1e-5)), {{4, d}, {d}}, 1e-5);
      expect_gradient(rms_norm, by_row(rms_norm_ref(1e-5)), {{4, d}, {d}}, 1e-4);
    }
    expect_gradient(rms_norm, by_row(rms_norm_ref(1e-5)), {{2 * kRowBlock + 5, 9}, {9}}, 1e-4);
  });
}

TEST(RmsNorm, UsesEpsilon) {
  const auto large = [](auto&&... args) { return ops::rms_norm(args..., 0.5f); };
  expect_values(large, by_row(rms_norm_ref(0.5)), {{3, 8}, {8}}, 1e-5);
}

TEST(RmsNorm, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(rms_norm, {{200, 77}, {77}});
}

TEST(RmsNorm, KeepsNaN) {
  for_each_simd_target([] {
    Context ctx(Mode::kInference, test_pool());
    const Tensor x = random_tensor({2, 19}, 1), g = random_tensor({19}, 2);
    x.host()[18] = std::numeric_limits<float>::quiet_NaN();
    const Tensor y = rms_norm(ctx, Var(x), Var(g)).value();
    for (size_t i = 0; i < 38; ++i) EXPECT_EQ(std::isnan(y.host()[i]), i < 19) << i;
  });
}

TEST(RmsNorm, RejectsGammaOfTheWrongWidth) {
  Context ctx(Mode::kInference, test_pool());
  EXPECT_THAT(
      [&] {
        rms_norm(ctx, Var(Tensor::zeros({2, 8})), Var(Tensor::zeros({7})));
      },
      ThrowsMessage<InvalidArgument>("rms_norm: gamma is [7], expected [8]"));
}

}  // namespace
}  // namespace rapt
