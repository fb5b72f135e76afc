#include "rapt/ops/tanh.h"

#include <gmock/gmock.h>

#include "rapt/kernels/tanh_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::tanh_ref;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr auto capped = [](Context& ctx, const Var& x) { return ops::tanh(ctx, x, 1.5f); };

TEST(Tanh, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17}) {
      expect_values([](Context& ctx, const Var& x) { return ops::tanh(ctx, x); },
                    by_row(tanh_ref(1)), {{3, d}}, 1e-6);
      expect_values(capped, by_row(tanh_ref(1.5)), {{3, d}}, 1e-6);
      expect_gradient(capped, by_row(tanh_ref(1.5)), {{3, d}}, 3e-6);
    }
  });
}

TEST(Tanh, StaysWithinItsBound) {
  Context ctx(Mode::kInference, test_pool());
  const Tensor y = ops::tanh(ctx, Var(Tensor::of({2}, std::array{1e30f, -1e30f})), 30).value();
  EXPECT_EQ(y.host()[0], 30.0f);
  EXPECT_EQ(y.host()[1], -30.0f);
}

TEST(Tanh, SameBitsForThreadsAndTargets) { expect_same_bits_everywhere(capped, {{300, 77}}); }

TEST(Tanh, RejectsABoundOfZero) {
  Context ctx(Mode::kInference, test_pool());
  EXPECT_THAT([&] { ops::tanh(ctx, Var(Tensor::zeros({2})), 0); },
              ThrowsMessage<InvalidArgument>("tanh: bound is 0, expected a positive number"));
}

}  // namespace
}  // namespace rapt
