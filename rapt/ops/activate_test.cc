#include "rapt/ops/activate.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/activation_dropout_ref.h"
#include "rapt/kernels/dropout_ref.h"
#include "rapt/ops/activations_test.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

auto plain(Activation activation) {
  return [=](Context& ctx, const Var& x) { return ops::activate(ctx, x, activation); };
}
auto plain_ref(Activation activation) {
  return by_row([=]<class T>(Row<T> x) {
    return each(x, [=](T v) { return kernels::activation_ref(activation, v); });
  });
}
auto dropped(Activation activation) {
  return [=](Context& ctx, const Var& x) {
    return ops::activate(ctx, x, activation, kDropout, sentences());
  };
}
auto dropped_ref(Activation activation, size_t d) {
  const Lengths names = sentences();
  Array<double> keep(Shape{kRows, d});
  keep.data = kernels::dropout_factors_ref(
      {op_key(0, Stream::kDropout, kDropout.site, 0), DropRate::of(kDropout.p), &names}, kRows, d);
  return [=]<class T>(const Array<T>& x) {
    return by_row(kernels::activation_dropout_ref(activation))(x, keep);
  };
}

TEST(Activate, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const Activation activation : kAll) {
      for (const size_t d : {1, 8, 17, 100}) {
        const std::array x{random_tensor({3, d}, 1, 6.0f)};
        expect_values_at(plain(activation), plain_ref(activation), x, 1e-6);
        expect_gradient_at(plain(activation), plain_ref(activation), x, 1e-5);
      }
    }
  });
}

TEST(Activate, DropsInTheSamePass) {
  for_each_simd_target([] {
    for (const Activation activation : kAll) {
      for (const size_t d : {1, 8, 17, 100}) {
        const Tensor x = random_tensor({kRows, d}, 1, 6.0f);
        Context ctx(Mode::kTraining, test_pool());
        expect_near(dropped(activation)(ctx, Var(x)).value(),
                    dropped_ref(activation, d)(to_array(x)), 1e-6);
        expect_gradient_at(dropped(activation), dropped_ref(activation, d), std::array{x}, 1e-5,
                           Mode::kTraining);
      }
    }
  });
}

TEST(Activate, SameBitsForThreadsAndTargets) {
  for (const Activation activation : kAll) {
    expect_same_bits_everywhere(dropped(activation), {{kRows, 77}});
  }
}

TEST(Activate, KeepsNaNBothWays) {
  for_each_simd_target([] {
    for (const Activation activation : kAll) {
      Context ctx(Mode::kTraining, test_pool());
      const Tensor x = random_tensor({kRows, 19}, 1), dy = random_tensor({kRows, 19}, 2);
      x.host()[18] = dy.host()[20] = std::numeric_limits<float>::quiet_NaN();
      x.host()[20] = 1.5f;
      const Var y = plain(activation)(ctx, ctx.leaf(x));
      EXPECT_TRUE(std::isnan(y.value().host()[18]));
      ctx.backward(y, dy);
      EXPECT_TRUE(std::isnan(ctx.gradient(x).host()[20]));
    }
  });
}

TEST(Activate, ReluKeepsItsOutputAlone) {
  Context ctx(Mode::kTraining, test_pool());
  const Tensor x = random_tensor({kRows, 8}, 1);
  const Var y = dropped(Activation::kRelu)(ctx, Var(x));
  EXPECT_TRUE(x.unique());
}

TEST(Activate, RejectsLengthsThatDoNotFit) {
  Context ctx(Mode::kTraining, test_pool());
  EXPECT_THAT(
      [&] {
        dropped(Activation::kRelu)(ctx, Var(Tensor::zeros({3, 4})));
      },
      ThrowsMessage<InvalidArgument>("activate: x has 3 rows, its lengths name 70"));
}

}  // namespace
}  // namespace rapt
