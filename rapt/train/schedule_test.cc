#include "rapt/train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rapt {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TrainOptions options(ScheduleKind kind) {
  TrainOptions o;
  o.schedule = kind;
  o.lr = 0.5;
  o.min_lr = 0.1;
  o.warmup_steps = 4;
  return o;
}

TEST(Schedule, WarmsUpInEqualStepsToTheHighestRate) {
  for (const auto& [kind, name] : kNames<ScheduleKind>) {
    const Schedule schedule(options(kind), 20);
    EXPECT_DOUBLE_EQ(schedule.at(1), 0.125) << name;
    EXPECT_DOUBLE_EQ(schedule.at(2), 0.25) << name;
    EXPECT_DOUBLE_EQ(schedule.at(4), 0.5) << name;
  }
}

TEST(Schedule, InverseSqrtFallsWithTheRootOfTheStepDownToTheLeast) {
  const Schedule schedule(options(ScheduleKind::kInverseSqrt), 0);
  EXPECT_DOUBLE_EQ(schedule.at(16), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(64), 0.125);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 0.1);
}

TEST(Schedule, InverseSqrtWithoutWarmUpStartsAtTheRate) {
  TrainOptions o = options(ScheduleKind::kInverseSqrt);
  o.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(Schedule(o, 0).at(1), 0.5);
  EXPECT_DOUBLE_EQ(Schedule(o, 0).at(4), 0.25);
}

TEST(Schedule, LinearReachesTheLeastAtTheLastStepAndStays) {
  const Schedule schedule(options(ScheduleKind::kLinear), 20);
  EXPECT_DOUBLE_EQ(schedule.at(12), 0.3);
  EXPECT_DOUBLE_EQ(schedule.at(20), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(21), 0.1);
}

TEST(Schedule, CosineIsHalfWayInTheMiddle) {
  const Schedule schedule(options(ScheduleKind::kCosine), 20);
  EXPECT_NEAR(schedule.at(8), 0.1 + 0.4 * (1 + std::sqrt(0.5)) / 2, 1e-12);  // p = 1/4
  EXPECT_NEAR(schedule.at(12), 0.3, 1e-12);
  EXPECT_NEAR(schedule.at(20), 0.1, 1e-12);
  EXPECT_NEAR(schedule.at(1000), 0.1, 1e-12);
}

TEST(Schedule, ConstantStays) {
  EXPECT_DOUBLE_EQ(Schedule(options(ScheduleKind::kConstant), 0).at(100000), 0.5);
}

TEST(Schedule, ARunShorterThanItsWarmUpNeverDividesByZero) {
  const Schedule schedule(options(ScheduleKind::kCosine), 3);
  EXPECT_DOUBLE_EQ(schedule.at(3), 0.375);
  EXPECT_NEAR(schedule.at(5), 0.1, 1e-12);
}

TEST(Schedule, RefusesAnUnknownLength) {
  EXPECT_THAT([] { Schedule(options(ScheduleKind::kCosine), 0); },
              ThrowsMessage<InvalidArgument>(HasSubstr("cosine schedule needs the number of")));
}

}  // namespace
}  // namespace rapt
