#include "rapt/insight/variance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

TEST(Variance, IsDkAndOneAfterScaling) {
  const Measured m(variance, VarianceOptions{.d_k = 64, .longest = 64, .draws = 4000});
  EXPECT_NEAR(m["mean"], 0, 0.5);  // 4 standard errors
  EXPECT_NEAR(m["deviation"], 8, 0.4);
  EXPECT_NEAR(m["scaled_variance"], 1, 0.1);
  EXPECT_NEAR(m["mean_product"], 0, 0.07);
  EXPECT_NEAR(m["square_component"], 1, 0.1);
  EXPECT_NEAR(m["variance_product"], 1, 0.2);
  EXPECT_NEAR(m["covariance_products"], 0, 0.07);
  EXPECT_NEAR(m["correlated_uniform_variance_over_d_k"], 1 + 63 * 0.01, 0.2);
  // P(|N(0, 64)| > 10) = 21.1 %; the tails of a sum of 64 products are a little heavier.
  EXPECT_NEAR(m["beyond_10"], 21, 2);
  EXPECT_EQ(m.result.verdict, Verdict::kHoldsWhen);
}

TEST(Variance, FailsForCorrelatedComponents) {
  const Measured m(variance,
                   VarianceOptions{.d_k = 64, .longest = 64, .draws = 4000, .correlation = 0.5});
  EXPECT_NEAR(m["variance"] / 64, 1 + 63 * 0.25, 2.5);
  EXPECT_NEAR(m["covariance_products"], 0.25, 0.1);
  EXPECT_EQ(m.result.verdict, Verdict::kFails);
}

TEST(Variance, FailsWithoutTheRoot) {
  const Measured m(variance,
                   VarianceOptions{.d_k = 64, .longest = 64, .draws = 1000, .scale = "none"});
  EXPECT_EQ(m["scaled_variance"], m["variance"]);
  EXPECT_EQ(m.result.verdict, Verdict::kFails);
}

TEST(Variance, RefusesAScaleThatIsNone) {
  Pool pool(1);
  for (const char* scale : {"", "root", "-1", "0", "nan", "1x"}) {
    EXPECT_THAT([&] { variance({.scale = scale}, {pool}); },
                testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("expected sqrt, none")));
  }
}

}  // namespace
}  // namespace rapt::insight
