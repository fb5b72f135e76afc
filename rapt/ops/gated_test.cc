#include "rapt/ops/gated.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/dropout_ref.h"
#include "rapt/kernels/gated_ref.h"
#include "rapt/ops/activations_test.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

auto gated(Activation activation, double p = kDropout.p) {
  return [=](Context& ctx, const Var& a, const Var& b) {
    return ops::gated(ctx, a, b, activation, {p, kDropout.site}, sentences());
  };
}
// `training`: with the factors of dropout.
auto reference(Activation activation, size_t d, bool training) {
  const Lengths names = sentences();
  Array<double> keep(Shape{kRows, d});
  const DropRate rate = training ? DropRate::of(kDropout.p) : DropRate();
  keep.data = kernels::dropout_factors_ref(
      {op_key(0, Stream::kDropout, kDropout.site, 0), rate, &names}, kRows, d);
  return [=]<class T>(const Array<T>& a, const Array<T>& b) {
    return by_row(kernels::gated_ref(activation))(a, b, keep);
  };
}

TEST(Gated, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const Activation activation : kAll) {
      for (const size_t d : {1, 8, 17, 100}) {
        const std::array inputs{random_tensor({kRows, d}, 1, 6.0f), random_tensor({kRows, d}, 2)};
        expect_values_at(gated(activation), reference(activation, d, false), inputs, 1e-6);
        expect_gradient_at(gated(activation), reference(activation, d, false), inputs, 1e-5);
      }
    }
  });
}

TEST(Gated, DropsInTheSamePass) {
  for_each_simd_target([] {
    for (const Activation activation : kAll) {
      for (const size_t d : {1, 17, 100}) {
        const std::array inputs{random_tensor({kRows, d}, 1, 6.0f), random_tensor({kRows, d}, 2)};
        Context ctx(Mode::kTraining, test_pool());
        expect_near(gated(activation)(ctx, Var(inputs[0]), Var(inputs[1])).value(),
                    reference(activation, d, true)(to_array(inputs[0]), to_array(inputs[1])), 1e-6);
        expect_gradient_at(gated(activation), reference(activation, d, true), inputs, 1e-5,
                           Mode::kTraining);
      }
    }
  });
}

TEST(Gated, SameBitsForThreadsAndTargets) {
  for (const Activation activation : kAll) {
    expect_same_bits_everywhere(gated(activation), {{kRows, 77}, {kRows, 77}});
  }
}

TEST(Gated, KeepsNaNBothWays) {
  for_each_simd_target([] {
    for (const Activation activation : kAll) {
      Context ctx(Mode::kTraining, test_pool());
      const Tensor a = random_tensor({kRows, 19}, 1), b = random_tensor({kRows, 19}, 2);
      const Tensor dy = random_tensor({kRows, 19}, 3);
      a.host()[17] = b.host()[18] = dy.host()[20] = std::numeric_limits<float>::quiet_NaN();
      a.host()[18] = a.host()[20] = 1.5f;
      const Var y = gated(activation, 0)(ctx, ctx.leaf(a), ctx.leaf(b));
      EXPECT_TRUE(std::isnan(y.value().host()[17]));
      EXPECT_TRUE(std::isnan(y.value().host()[18]));
      ctx.backward(y, dy);
      EXPECT_TRUE(std::isnan(ctx.gradient(a).host()[20]));
      EXPECT_TRUE(std::isnan(ctx.gradient(b).host()[20]));
    }
  });
}

TEST(Gated, RejectsShapesThatDoNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const auto call = [&](Shape a, Shape b) {
    return [&ctx, a, b] {
      gated(Activation::kSilu)(ctx, Var(Tensor::zeros(a)), Var(Tensor::zeros(b)));
    };
  };
  EXPECT_THAT(call({kRows, 4}, {kRows, 5}),
              ThrowsMessage<InvalidArgument>("gated: a is [70, 4], b is [70, 5]"));
  EXPECT_THAT(call({3, 4}, {3, 4}),
              ThrowsMessage<InvalidArgument>("gated: x has 3 rows, its lengths name 70"));
}

}  // namespace
}  // namespace rapt
