#include "rapt/insight/saturation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"
#include "rapt/insight/weights.h"

namespace rapt::insight {
namespace {

TEST(Weights, AreThoseOfTheFormulas) {
  const std::vector<double> p = softmax(std::vector<double>{1000, 1000 + std::log(3.0)});
  EXPECT_NEAR(p[0], 0.25, 1e-12);
  EXPECT_NEAR(p[1], 0.75, 1e-12);
  EXPECT_NEAR(entropy(std::vector<double>{0.5, 0.5, 0}), std::log(2), 1e-15);
  EXPECT_DOUBLE_EQ(moved(std::vector<double>{1, 0}, std::vector<double>{0.75, 0.25}), 0.25);
}

TEST(Saturation, UnscaledIsOneHotAndScaledIsNot) {
  const Measured m(saturation, SaturationOptions{.longest = 64, .draws = 400});
  // The two greatest of ten scores of deviation 22.6 are more than ln 99 apart in most draws.
  EXPECT_GT(m["unscaled_saturated"], 60);
  EXPECT_LT(m["unscaled_effective_keys"], 2);
  // Ten normal scores of variance 1: E[H] is about ln 10 - 1/2.
  EXPECT_NEAR(m["scaled_entropy"], std::log(10) - 0.45, 0.1);
  EXPECT_EQ(m["scaled_saturated"], 0);
  EXPECT_LT(m["unscaled_moved"], m["scaled_moved"]);
  EXPECT_EQ(m.result.verdict, Verdict::kHolds);
}

TEST(Saturation, DoesNotComeWithOneComponent) {
  const Measured m(saturation, SaturationOptions{.d_k = 1, .longest = 1, .draws = 400});
  EXPECT_EQ(m["unscaled_entropy"], m["scaled_entropy"]);
  EXPECT_EQ(m.result.verdict, Verdict::kFails);
}

}  // namespace
}  // namespace rapt::insight
