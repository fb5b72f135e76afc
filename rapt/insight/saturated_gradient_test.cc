#include "rapt/insight/saturated_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/insight/draws.h"
#include "rapt/insight/statistics.h"
#include "rapt/ops/softmax.h"

namespace rapt::insight {
namespace {

using ::testing::Each;

TEST(SoftmaxGradient, IsThatOfTheOperation) {
  const std::array<double, 4> scores = {0.5, -1, 2, 0.25}, g = {1, -2, 0.5, 3};
  const SoftmaxGradient exact = softmax_gradient(scores, g);
  Pool pool(1);
  Context ctx(Mode::kTraining, pool);
  const std::array<float, 4> s = {0.5, -1, 2, 0.25}, dy = {1, -2, 0.5, 3};
  const Tensor x = Tensor::of({1, 4}, s);
  const Var p = ops::softmax(ctx, ctx.leaf(x));
  ctx.backward(p, Tensor::of({1, 4}, dy));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(exact.p[i], p.data()[i], 1e-6);
    EXPECT_NEAR(exact.ds[i], ctx.gradient(x).host()[i], 1e-6);
  }
}

TEST(SoftmaxGradient, OfTwoValuesIsThatOfTheLogisticFunction) {
  for (const double z : {0.0, 5.0, -5.0, 40.0}) {
    const SoftmaxGradient two = softmax_gradient(std::array{z, 0.0}, std::array{1.0, 0.0});
    const double e = std::exp(-std::abs(z)), slope = e / ((1 + e) * (1 + e));
    EXPECT_NEAR(two.ds[0] / slope, 1, 1e-12) << z;           // also where p is 1 in double
    EXPECT_NEAR(two.jacobian / (2 * slope), 1, 1e-12) << z;  // all four entries are ± the slope
  }
}

TEST(SoftmaxGradient, KnowsNoCommonShift) {
  const std::array g = {1.0, -2.0, 0.5};
  const SoftmaxGradient low = softmax_gradient(std::array{1.0, 2.0, 4.0}, g);
  const SoftmaxGradient high = softmax_gradient(std::array{101.0, 102.0, 104.0}, g);
  EXPECT_EQ(low.ds, high.ds);
}

TEST(DrawGradients, ReachTheQueryAsTheScaleTimesTheKeysSay) {
  constexpr size_t kDim = 6, kKeys = 3, kDraws = 20;
  Pool pool(2);
  const GradientDraws draws = draw_gradients(kDim, kKeys, kDraws, std::array{0.5}, 9, pool).front();
  // The same through the loss sum of g_j p_j, by central differences.
  const size_t draw = 7;
  std::vector<std::vector<float>> v(kKeys + 1, std::vector<float>(kDim));
  for (size_t i = 0; i <= kKeys; ++i) {
    draw_vector(v[i], draw_key(9, "vanishing.vectors"), draw * (kKeys + 1) + i, {});
  }
  const auto loss = [&](size_t component, double by) {
    std::vector<double> scores(kKeys), zero(kKeys);
    for (size_t j = 0; j < kKeys; ++j) {
      scores[j] = 0.5 * (dot(v[0], v[1 + j]) + by * static_cast<double>(v[1 + j][component]));
    }
    const SoftmaxGradient softmax = softmax_gradient(scores, zero);
    double sum = 0;
    for (size_t j = 0; j < kKeys; ++j) {
      sum += softmax.p[j] * normal(draw_key(9, "vanishing.gradients"), draw * kKeys + j);
    }
    return sum;
  };
  double squares = 0;
  for (size_t c = 0; c < kDim; ++c) {
    const double slope = (loss(c, 1e-5) - loss(c, -1e-5)) / 2e-5;
    squares += slope * slope;
  }
  EXPECT_NEAR(draws.query[draw], std::sqrt(squares), 1e-7);
}

TEST(DrawGradients, VanishInMostDrawsWithoutTheScale) {
  Pool pool(2);
  const std::array scales = {1 / std::sqrt(512.0), 1.0};
  const auto draws = draw_gradients(512, 10, 200, scales, 1, pool);
  const GradientDraws &scaled = draws[0], &plain = draws[1];
  EXPECT_LT(quantile(plain.query, 0.5), 0.1 * quantile(scaled.query, 0.5));
  EXPECT_GT(mean_of(plain.query), mean_of(scaled.query));  // the few that are left are large
  EXPECT_THAT(scaled.jacobian, Each(::testing::Gt(0.01)));
}

}  // namespace
}  // namespace rapt::insight
