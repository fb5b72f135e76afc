#include "rapt/insight/vanishing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"
#include "rapt/insight/score_training.h"

namespace rapt::insight {
namespace {

TrainingOptions tiny(uint64_t steps) {
  TrainingOptions o;
  o.d_model = 16;
  o.heads = 2;
  o.d_ff = 16;
  o.steps = steps;
  return o;
}

TEST(Vanishing, OfMostQueriesButNotOnAverage) {
  VanishingOptions o;
  o.d_k = 256;
  o.draws = 100;
  o.layers = 1;
  o.training = tiny(2);
  const Measured m(vanishing, o);
  EXPECT_LT(m["gradient_unscaled"], 0.5 * m["gradient_scaled"]);
  EXPECT_LT(m["jacobian_unscaled"], 0.1 * m["jacobian_scaled"]);
  EXPECT_GT(m["gradient_mean_unscaled"], m["gradient_mean_scaled"]);
  EXPECT_GT(m["small_unscaled"], m["small_scaled"]);
  EXPECT_DOUBLE_EQ(m["slope_0"], 0.25);
  EXPECT_NEAR(m["slope_5"], 0.006648, 1e-6);
  EXPECT_EQ(m.result.figure.panels.size(), 6u);
}

TEST(ScoreTraining, ProjectionsOfUnitVarianceSaturateWithoutTheScale) {
  Pool pool(2);
  const auto runs = train_scores(tiny(1), 1, {256}, 1, pool);
  ASSERT_EQ(runs.size(), 4u);
  for (const ScoreRun& run : runs) {
    EXPECT_EQ(run.saturated > 0.2, run.unit && !run.scaled);
    EXPECT_GT(run.gradient, 0);
  }
  EXPECT_EQ(runs[0].curve.loss.size(), 1u);
}

}  // namespace
}  // namespace rapt::insight
