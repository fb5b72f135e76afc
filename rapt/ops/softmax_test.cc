#include "rapt/ops/softmax.h"

#include <limits>

#include "rapt/kernels/softmax_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::softmax_ref;
using namespace testing;

constexpr auto softmax = [](Context& ctx, const Var& x) { return ops::softmax(ctx, x); };
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Softmax, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 3, 8, 17, 64, 1000}) {
      const std::array x{random_tensor({4, d}, 1, 12.0f)};
      expect_values_at(softmax, by_row(softmax_ref), x, 1e-6);
      expect_gradient_at(softmax, by_row(softmax_ref), x, 1e-6);
    }
  });
}

TEST(Softmax, MaskedKeysAreZeroAndAMaskedRowIsZeroBothWays) {
  for_each_simd_target([] {
    Context ctx(Mode::kEvaluation, test_pool());
    const Tensor x = Tensor::zeros({2, 19});
    std::fill_n(x.data() + 1, 37, -kInfinity);
    x.host()[18] = -800.0f;
    const Var y = softmax(ctx, ctx.leaf(x));
    for (size_t i = 0; i < 38; ++i) EXPECT_EQ(y.value().host()[i], i == 0 ? 1.0f : 0.0f) << i;
    ctx.backward(y, random_tensor({2, 19}, 1));
    for (size_t i = 19; i < 38; ++i) EXPECT_EQ(ctx.gradient(x).host()[i], 0.0f);
  });
}

TEST(Softmax, LargeScoresDoNotOverflow) {
  for_each_simd_target([] {
    const Tensor x = Tensor::of({1, 3}, std::array{3e38f, 3e38f, -3e38f});
    Context ctx(Mode::kInference, test_pool());
    const Tensor y = softmax(ctx, Var(x)).value();
    EXPECT_EQ(y.host()[0], 0.5f);
    EXPECT_EQ(y.host()[1], 0.5f);
    EXPECT_EQ(y.host()[2], 0.0f);
  });
}

TEST(Softmax, NaNReachesTheWholeRowFromEveryPlace) {
  for_each_simd_target([] {
    for (size_t at = 0; at < 37; ++at) {
      const Tensor x = random_tensor({2, 37}, 1);
      x.host()[at] = std::numeric_limits<float>::quiet_NaN();
      Context ctx(Mode::kInference, test_pool());
      const Tensor y = softmax(ctx, Var(x)).value();
      for (size_t i = 0; i < 74; ++i) EXPECT_EQ(std::isnan(y.host()[i]), i < 37) << at;
    }
  });
}

TEST(Softmax, SameBitsForThreadsAndTargets) { expect_same_bits_everywhere(softmax, {{200, 77}}); }

}  // namespace
}  // namespace rapt
