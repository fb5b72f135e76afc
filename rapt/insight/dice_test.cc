#include "rapt/insight/dice.h"

#include <gtest/gtest.h>

#include <numeric>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

TEST(Dice, DistributionOfTwoIsTheKnownOne) {
  const std::vector<double> p = sum_distribution(2, 6);
  ASSERT_EQ(p.size(), 11u);  // 2 … 12
  for (size_t i = 0; i < 11; ++i) {
    EXPECT_NEAR(p[i], (i < 6 ? i + 1.0 : 11.0 - i) / 36, 1e-15) << i + 2;
  }
  const std::vector<double> many = sum_distribution(64, 6);
  EXPECT_EQ(many.size(), 321u);
  EXPECT_NEAR(std::accumulate(many.begin(), many.end(), 0.0), 1, 1e-13);
}

TEST(Dice, TheSumIsTheNotesTimesAsSpread) {
  const Measured m(dice, DiceOptions{.draws = 20000});
  EXPECT_EQ(m["sum_low"], 64);
  EXPECT_EQ(m["sum_high"], 384);
  EXPECT_EQ(m["sum_width"], 320);
  EXPECT_EQ(m["width_ratio"], 64);
  EXPECT_NEAR(m["one_variance"], 35.0 / 12, 0.07);  // 4 standard errors
  EXPECT_NEAR(m["sum_variance"], 64 * 35.0 / 12, 7.5);
  EXPECT_NEAR(m["deviation_ratio"], 8, 0.25);
  // 224 ± 3.29 · 13.66, by the normal distribution.
  EXPECT_NEAR(m["middle_low"], 224 - 45, 1.5);
  EXPECT_NEAR(m["middle_high"], 224 + 45, 1.5);
  EXPECT_EQ(m.result.verdict, Verdict::kHolds);
}

}  // namespace
}  // namespace rapt::insight
