#include "rapt/insight/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rapt::insight {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TrainingOptions tiny() {
  TrainingOptions o;
  o.task = Task::kReverse;
  o.symbols = 6;
  o.length = 4;
  o.d_model = 16;
  o.heads = 2;
  o.d_ff = 16;
  o.steps = 120;
  o.warmup_steps = 10;
  o.lr = 0.01;
  return o;
}

std::unique_ptr<TaskModel> model_of(const TrainingOptions& o, uint64_t seed) {
  return std::make_unique<TaskModel>(o.layer(), 1, true, o.symbols, seed);
}

TEST(TaskBatch, AnswersAreTheSentenceBackwardsOrSorted) {
  TrainingOptions o = tiny();
  const TaskBatch reverse = task_batch(o, 1, 7, 3);
  ASSERT_EQ(reverse.ids.size(), 12u);
  ASSERT_EQ(reverse.sentences.sequences(), 3u);
  for (size_t s = 0; s < 3; ++s) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(reverse.answers[4 * s + i], reverse.ids[4 * s + 3 - i]);
      EXPECT_GE(reverse.ids[4 * s + i], 0);
      EXPECT_LT(reverse.ids[4 * s + i], 6);
    }
  }
  o.task = Task::kSort;
  const TaskBatch sorted = task_batch(o, 1, 7, 3);
  EXPECT_EQ(sorted.ids, reverse.ids);
  for (size_t s = 0; s < 3; ++s) {
    std::vector<int32_t> x(sorted.ids.begin() + 4 * s, sorted.ids.begin() + 4 * s + 4);
    std::ranges::sort(x);
    EXPECT_THAT(std::span(sorted.answers).subspan(4 * s, 4), ElementsAreArray(x));
  }
}

TEST(TaskBatch, EchoRepeatsWhatStandsBeforeAOne) {
  TrainingOptions o = tiny();
  o.task = Task::kEcho;
  o.length = 40;
  const TaskBatch batch = task_batch(o, 1, 7, 1);
  EXPECT_EQ(batch.ids[0], 0);
  size_t ones = 0;
  for (size_t i = 1; i < 40; ++i) {
    EXPECT_GE(batch.ids[i], 1);
    EXPECT_LT(batch.ids[i], 6);
    EXPECT_EQ(batch.answers[i], batch.ids[i] == 1 ? batch.ids[i - 1] : batch.ids[i]);
    ones += batch.ids[i] == 1 ? 1 : 0;
  }
  EXPECT_GT(ones, 0u);
}

TEST(TaskBatch, ASentenceDependsOnItsNumberAlone) {
  const TrainingOptions o = tiny();
  const TaskBatch three = task_batch(o, 1, 7, 3), one = task_batch(o, 1, 8, 1);
  EXPECT_THAT(std::span(three.ids).subspan(4, 4), ElementsAreArray(one.ids));
  EXPECT_NE(task_batch(o, 2, 8, 1).ids, one.ids);
}

TEST(Training, LearnsBothTasks) {
  for (const Task task : {Task::kReverse, Task::kSort}) {
    TrainingOptions o = tiny();
    o.task = task;
    Pool pool(1);
    const auto model = model_of(o, 3);
    const Curve curve = train(*model, o, 3, pool);
    ASSERT_TRUE(curve.finite);
    EXPECT_NEAR(curve.loss.front(), std::log(6.0), 0.1);
    EXPECT_LT(curve.end(), 0.6 * curve.loss.front());
    EXPECT_NEAR(held_out_loss(*model, o, 3, 50, pool), curve.end(), 0.2);
  }
}

TEST(Training, TheSameBitsForAnyNumberOfThreadsAndRuns) {
  TrainingOptions o = tiny();
  o.steps = 5;
  const auto make = [&](size_t run) { return model_of(o, run); };
  Pool one(1), two(2);
  const std::vector<Curve> alone = train_all(3, o, 4, make, one);
  const std::vector<Curve> shared = train_all(3, o, 4, make, two);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(alone[i].loss, shared[i].loss);
    EXPECT_EQ(alone[i].grad_norm, shared[i].grad_norm);
  }
  EXPECT_NE(alone[0].loss, alone[1].loss);
  const auto model = model_of(o, 2);
  EXPECT_EQ(train(*model, o, 4, two).loss, alone[2].loss);
}

TEST(Training, ATrainingSetComesAgain) {
  TrainingOptions o = tiny();
  o.lr = 0;
  o.steps = 4;
  o.sentences = 2 * o.batch;
  Pool pool(1);
  const auto model = model_of(o, 1);
  const Curve curve = train(*model, o, 1, pool);
  EXPECT_EQ(curve.loss[0], curve.loss[2]);
  EXPECT_EQ(curve.loss[1], curve.loss[3]);
  EXPECT_NE(curve.loss[0], curve.loss[1]);
}

TEST(Training, StopsWhenAValueIsNotFinite) {
  TrainingOptions o = tiny();
  Pool pool(1);
  const auto model = model_of(o, 1);
  model->parameters()[0].value.host()[0] = std::numeric_limits<float>::quiet_NaN();
  const Curve curve = train(*model, o, 1, pool);
  EXPECT_FALSE(curve.finite);
  EXPECT_TRUE(curve.loss.empty());
  EXPECT_TRUE(std::isinf(curve.end()));
}

TEST(ResidualModel, HasTheNormsOfItsKind) {
  const TrainingOptions o = tiny();
  const auto has = [&](Residual kind, const char* name) {
    return residual_model(o, kind, 2, 1)->parameters().find(name) != nullptr;
  };
  for (const Residual kind : {Residual::kPost, Residual::kPre, Residual::kDeepNorm}) {
    EXPECT_TRUE(has(kind, "encoder.layers.1.norm2.weight"));
    EXPECT_TRUE(has(kind, "encoder.norm.weight"));
  }
  for (const Residual kind : {Residual::kNone, Residual::kPlain}) {
    EXPECT_FALSE(has(kind, "encoder.layers.1.norm2.weight"));
    EXPECT_FALSE(has(kind, "encoder.norm.weight"));
  }
}

TEST(Training, RefusesSizesThatDoNotFit) {
  TrainingOptions o = tiny();
  o.heads = 3;
  EXPECT_THROW(o.validate(), InvalidArgument);
  o = tiny();
  o.symbols = 1;
  EXPECT_THROW(o.validate(), InvalidArgument);
}

TEST(Curve, ReachesALossWhenTheMeanOfTheWindowDoes) {
  const Curve curve{.loss = {4, 4, 1, 1, 1}, .grad_norm = {}};
  EXPECT_EQ(curve.reaches(2.5, 2), 3u);
  EXPECT_EQ(curve.reaches(1, 2), 4u);
  EXPECT_EQ(curve.reaches(0.5, 2), std::nullopt);
  EXPECT_EQ(curve.end(2), 1);
}

TEST(Curve, IsSmoothedByMeansOfWindows) {
  const SmoothCurve smoothed = smooth({1, 3, 5, 7, 9}, 3);
  EXPECT_THAT(smoothed.step, ElementsAre(1.5, 3.5, 5));
  EXPECT_THAT(smoothed.loss, ElementsAre(2, 6, 9));
}

TEST(TaskTraining, KeepsRunningStatistics) {
  const TrainingOptions o = tiny();
  nn::LayerOptions layer = o.layer();
  layer.norm = NormKind::kBatch;
  TaskModel model(layer, 1, true, o.symbols, 1);
  Pool pool(1);
  TaskTraining training(model, o, 1, pool);
  training.step();
  training.step();
  ASSERT_FALSE(model.parameters().buffers().empty());
  for (const auto& buffer : model.parameters().buffers()) {
    if (buffer->name.ends_with("num_batches_tracked")) EXPECT_EQ(buffer->value.host()[0], 2);
  }
}

}  // namespace
}  // namespace rapt::insight
