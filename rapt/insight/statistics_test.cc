#include "rapt/insight/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {
namespace {

TEST(Statistics, AreThoseOfTheFormulas) {
  const std::vector<double> values = {1, 2, 3, 6};
  const Summary s = summarize(values);  // deviations -2 -1 0 3
  EXPECT_EQ(s.count, 4u);
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.variance, 14.0 / 3);
  EXPECT_DOUBLE_EQ(s.deviation(), std::sqrt(14.0 / 3));
  EXPECT_DOUBLE_EQ(s.fourth_moment, 98.0 / 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 6);
}

// Of 1000 experiments on 1000 draws each, about one may miss the truth; of the variance a few more,
// for its interval is asymptotic.
TEST(Statistics, IntervalsCoverTheTruth) {
  Pool pool(1);
  for (const Components kind :
       {Components::kNormal, Components::kUniform, Components::kRademacher}) {
    int mean_missed = 0, variance_missed = 0;
    for (size_t experiment = 0; experiment < 1000; ++experiment) {
      std::vector<float> x(1000);
      draw_vector(x, draw_key(7, "intervals"), experiment, {kind});
      const std::vector<double> values(x.begin(), x.end());
      const Summary s = summarize(values);
      mean_missed += s.mean_interval().contains(0) ? 0 : 1;
      variance_missed += s.variance_interval().contains(1) ? 0 : 1;
    }
    EXPECT_LE(mean_missed, 5) << name_of(kind);
    EXPECT_LE(variance_missed, 10) << name_of(kind);
  }
}

TEST(Statistics, NeedTwoValues) {
  const std::vector<double> one = {1};
  EXPECT_THROW(summarize(one), InvalidArgument);
  EXPECT_THROW(quantile({}, 0.5), InvalidArgument);
}

}  // namespace
}  // namespace rapt::insight
