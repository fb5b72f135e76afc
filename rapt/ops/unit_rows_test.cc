#include "rapt/ops/unit_rows.h"

#include <gmock/gmock.h>

#include "rapt/kernels/unit_rows_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::unit_rows_ref;
using ops::Heads;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr size_t kHeads = 3;

// Columns 2 … of x.
Heads part(const Var& x, size_t d) { return {{x, 2}, Lengths::single(x.rows()), kHeads, d}; }

auto with_gain(size_t d, float eps) {
  return [=](Context& ctx, const Var& x, const Var& gain) {
    return ops::unit_rows(ctx, part(x, d), &gain, eps);
  };
}
auto reference(size_t d, double eps) {
  return [=]<class T>(Row<T> x, Row<T> gain) {
    return unit_rows_ref(kHeads, eps)(x.subspan(2, kHeads * d), gain);
  };
}

TEST(UnitRows, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 3, 8, 17, 64}) {
      const size_t columns = 2 + kHeads * d + 1;
      expect_values(with_gain(d, 1e-6f), by_row(reference(d, 1e-6)), {{4, columns}, {kHeads}},
                    1e-6);
      expect_gradient(with_gain(d, 1e-6f), by_row(reference(d, 1e-6)), {{4, columns}, {kHeads}},
                      1e-5);
    }
    expect_gradient(with_gain(4, 0.5f), by_row(reference(4, 0.5)),
                    {{2 * kRowBlock + 5, 15}, {kHeads}}, 1e-5);
  });
}

TEST(UnitRows, WithoutAGainTheyHaveLengthOne) {
  const auto plain = [](Context& ctx, const Var& x) {
    return ops::unit_rows(ctx, part(x, 5), nullptr, 1e-6f);
  };
  const auto ref = by_row(
      []<class T>(Row<T> x) { return unit_rows_ref(kHeads, 1e-6)(x.subspan(2, 15), Row<T>()); });
  expect_values(plain, ref, {{4, 17}}, 1e-6);
  expect_gradient(plain, ref, {{4, 17}}, 1e-5);
}

TEST(UnitRows, ARowOfZerosStaysZeroAndItsGradientFinite) {
  Context ctx(Mode::kEvaluation, test_pool());
  const Tensor x = Tensor::zeros({1, 8});
  const Var y = ops::unit_rows(ctx, {{ctx.leaf(x)}, Lengths::single(1), 2, 4}, nullptr, 1e-6f);
  ctx.backward(y);
  for (size_t c = 0; c < 8; ++c) {
    EXPECT_EQ(y.value().host()[c], 0.0f);
    EXPECT_NEAR(ctx.gradient(x).host()[c], 1e3f, 0.1f);  // 1 / sqrt(eps)
  }
}

TEST(UnitRows, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(with_gain(25, 1e-6f), {{200, 77}, {kHeads}});
}

TEST(UnitRows, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const Var x(Tensor::zeros({2, 8}));
  EXPECT_THAT(
      [&] {
        ops::unit_rows(ctx, {{x, 1}, Lengths::single(2), 2, 4}, nullptr, 0);
      },
      ThrowsMessage<InvalidArgument>(
          "unit_rows: x is 2 heads of 4 columns from 1 of a matrix that has 8"));
  const Var gain(Tensor::zeros({3}));
  EXPECT_THAT(
      [&] {
        ops::unit_rows(ctx, {{x}, Lengths::single(2), 2, 4}, &gain, 0);
      },
      ThrowsMessage<InvalidArgument>("unit_rows: gain is [3], expected [2]"));
}

}  // namespace
}  // namespace rapt
