#include "rapt/train/best.h"

#include <gtest/gtest.h>

#include <limits>

namespace rapt {
namespace {

const metrics::Metric& kLoss = metrics::find_metric("loss");

TEST(Best, LessLossIsBetterAndMoreBleuIsBetter) {
  for (const char* name : {"loss", "perplexity", "wer", "per"}) {
    const metrics::Metric& metric = metrics::find_metric(name);
    Best best;
    EXPECT_TRUE(best.update(metric, 1, 3));
    EXPECT_FALSE(best.update(metric, 2, 4));
    EXPECT_TRUE(best.update(metric, 3, 2));
    EXPECT_EQ(best.found, (Best::Found{3, 2.0})) << name;
  }
  for (const char* name : {"bleu", "chrf", "accuracy"}) {
    const metrics::Metric& metric = metrics::find_metric(name);
    Best best;
    EXPECT_TRUE(best.update(metric, 1, 3));
    EXPECT_TRUE(best.update(metric, 2, 4));
    EXPECT_FALSE(best.update(metric, 3, 2));
    EXPECT_EQ(best.found, (Best::Found{2, 4.0})) << name;
  }
}

TEST(Best, TheFirstOfEqualsStays) {
  Best best;
  best.update(kLoss, 1, 0.5);
  EXPECT_FALSE(best.update(kLoss, 2, 0.5));
  EXPECT_EQ(best.found->step, 1u);
}

TEST(Best, NaNIsNeverBetter) {
  Best best;
  EXPECT_FALSE(best.update(kLoss, 1, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(best.found.has_value());
  EXPECT_TRUE(best.update(kLoss, 2, 7));
  EXPECT_FALSE(best.update(kLoss, 3, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(best.found->step, 2u);
}

TEST(Best, GivesUpAfterThatManyWithoutABetterOne) {
  Best best;
  best.update(kLoss, 1, 3);
  best.update(kLoss, 2, 4);
  EXPECT_FALSE(best.give_up(2));
  best.update(kLoss, 3, 2);  // starts the count again
  best.update(kLoss, 4, 4);
  EXPECT_FALSE(best.give_up(2));
  best.update(kLoss, 5, 4);
  EXPECT_TRUE(best.give_up(2));
  EXPECT_FALSE(best.give_up(0));  // without patience, never
}

}  // namespace
}  // namespace rapt
