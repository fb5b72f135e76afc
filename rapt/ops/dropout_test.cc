#include "rapt/ops/dropout.h"

#include <gmock/gmock.h>

#include "rapt/kernels/dropout_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::dropout_factors_ref;
using ::testing::ThrowsMessage;
using namespace testing;

// Sentences of several sizes, ids that need both words, a cache behind one of them.
Lengths sentences() {
  return Lengths({{7, 3, 0}, {(uint64_t{5} << 40) + 1, 90, 2}, {8, 0, 0}, {9, 47, 100000}});
}
constexpr size_t kRows = 140;
const Dropout kDropout{0.3, site_of("encoder.layers.0.dropout")};

const auto dropout = [](Context& ctx, const Var& x) {
  return ops::dropout(ctx, x, sentences(), kDropout);
};

TEST(Dropout, DrawsTheBitsOfItsDefinition) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17, 64, 100, 1000}) {
      Context ctx(Mode::kTraining, test_pool(), 11, 5);
      const Tensor x = random_tensor({kRows, d}, 1);
      const Tensor y = dropout(ctx, ctx.leaf(x)).value();
      const Lengths lengths = sentences();
      const std::vector<double> m = dropout_factors_ref(
          {op_key(11, Stream::kDropout, kDropout.site, 5), DropRate::of(0.3), &lengths}, kRows, d);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y.host()[i], x.host()[i] * static_cast<float>(m[i])) << i << " of width " << d;
      }
    }
  });
}

TEST(Dropout, GradientMeetsTheSameBits) {
  for_each_simd_target([] {
    Context ctx(Mode::kTraining, test_pool(), 11, 5);
    const Tensor ones = Tensor::zeros({kRows, 19});
    std::ranges::fill(ones.host(), 1.0f);
    const Var y = dropout(ctx, ctx.leaf(ones));
    ctx.backward(y, ones);
    expect_same_bits(ctx.gradient(ones), y.value());
  });
}

TEST(Dropout, DropsTheGivenShareAndKeepsTheMean) {
  Context ctx(Mode::kTraining, test_pool());
  const Tensor ones = Tensor::zeros({kRows, 512});
  std::ranges::fill(ones.host(), 1.0f);
  double zeros = 0, sum = 0;
  for (const float v : dropout(ctx, Var(ones)).value().host()) zeros += v == 0, sum += v;
  const double n = kRows * 512, deviation = std::sqrt(0.3 * 0.7 / n);
  EXPECT_NEAR(zeros / n, 0.3, 5 * deviation);
  EXPECT_NEAR(sum / n, 1.0, 5 * deviation / 0.7);
}

TEST(Dropout, FollowsTheTokenNotItsPlace) {
  Context ctx(Mode::kTraining, test_pool(), 3);
  const Tensor x = random_tensor({9, 40}, 1);
  const Tensor y = ops::dropout(ctx, Var(x), Lengths({{4, 5, 0}, {6, 4, 0}}), kDropout).value();
  const Tensor alone =
      ops::dropout(ctx, Var(x.slice_rows(7, 9)), Lengths({{6, 2, 2}}), kDropout).value();
  expect_same_bits(alone, y.slice_rows(7, 9));
}

TEST(Dropout, AnotherSeedUpdateOrSiteDrawsOtherBits) {
  const Tensor x = random_tensor({kRows, 16}, 1);
  const auto draw = [&](uint64_t seed, uint64_t update, uint32_t site) {
    Context ctx(Mode::kTraining, test_pool(), seed, update);
    const Tensor y = ops::dropout(ctx, Var(x), sentences(), {0.5, site}).value();
    return std::vector<float>(y.host().begin(), y.host().end());
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(4, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 4, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 4));
}

TEST(Dropout, DoesNothingOutsideOfTraining) {
  for (const Mode mode : {Mode::kEvaluation, Mode::kInference}) {
    Context ctx(mode, test_pool());
    const Tensor x = random_tensor({kRows, 16}, 1);
    EXPECT_EQ(dropout(ctx, Var(x)).data(), x.data());
  }
}

TEST(Dropout, SameBitsForThreadsAndTargets) { expect_same_bits_everywhere(dropout, {{kRows, 77}}); }

TEST(Dropout, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kTraining, test_pool());
  const Var x(Tensor::zeros({3, 4}));
  EXPECT_THAT([&] { dropout(ctx, x); },
              ThrowsMessage<InvalidArgument>("dropout: x has 3 rows, its lengths name 140"));
  EXPECT_THAT(
      [&] {
        ops::dropout(ctx, x, Lengths::single(3), {1.0, 0});
      },
      ThrowsMessage<InvalidArgument>("dropout: dropout is 1, expected a number in [0, 1)"));
}

}  // namespace
}  // namespace rapt
