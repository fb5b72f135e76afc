// Each option of training changes what it is there to change.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "rapt/train/tiny_run_test.h"

namespace rapt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class OptionTest : public TinyRun {
 protected:
  static TrainOptions base() {
    TrainOptions o = tiny_run_options();
    o.steps = 6;
    o.warmup_steps = 2;
    o.weight_decay = 0.1;
    o.clip_norm = 0.5;
    o.min_lr = 0.001;
    return o;
  }
  void run(const char* name, const TrainOptions& options, Recorder& recorder, bool valid = false) {
    Job job;
    job.name = name;
    job.options = options;
    job.valid = valid;
    TinyRun::run(job, recorder);
  }
  std::string weights_with(const char* name, const TrainOptions& options) {
    Recorder recorder;
    run(name, options, recorder);
    return weights_hash(name);
  }
};

TEST_F(OptionTest, EveryOptionOfTheIdentityChangesTheWeights) {
  const std::string before = weights_with("base", base());
  EXPECT_EQ(weights_with("again", base()), before);
  // metric chooses among weights (trainer_test.cc), balance is that of experts (below).
  std::set<std::string> seen = {"metric", "balance"};
  const auto expect_change = [&](const char* name, const std::function<void(TrainOptions&)>& f) {
    TrainOptions options = base();
    f(options);
    EXPECT_NE(weights_with(name, options), before) << name;
    EXPECT_TRUE(seen.insert(name).second) << name;
  };
  expect_change("batch_tokens", [](auto& o) { o.batch_tokens = 90; });
  expect_change("accumulate", [](auto& o) { o.accumulate = 2; });
  expect_change("shards", [](auto& o) { o.shards = 3; });
  expect_change("max_length", [](auto& o) { o.max_length = 4; });
  expect_change("seed", [](auto& o) { o.seed = 2; });
  expect_change("schedule", [](auto& o) { o.schedule = ScheduleKind::kCosine; });
  expect_change("lr", [](auto& o) { o.lr = 0.02; });
  expect_change("min_lr", [](auto& o) { o.min_lr = 0.009; });
  expect_change("warmup_steps", [](auto& o) { o.warmup_steps = 3; });
  expect_change("optimizer", [](auto& o) { o.optimizer = OptimizerKind::kAdamW; });
  expect_change("beta1", [](auto& o) { o.beta1 = 0.8; });
  expect_change("beta2", [](auto& o) { o.beta2 = 0.9; });
  expect_change("eps", [](auto& o) { o.eps = 1e-3; });
  expect_change("weight_decay", [](auto& o) { o.weight_decay = 0.2; });
  expect_change("decay", [](auto& o) { o.decay = Decay::kAll; });
  expect_change("clip_norm", [](auto& o) { o.clip_norm = 0.1; });
  expect_change("label_smoothing", [](auto& o) { o.label_smoothing = 0.2; });
  expect_change("smoothing", [](auto& o) { o.smoothing = ops::Smoothing::kFairseq; });
  expect_change("ema_decay", [](auto& o) { o.ema_decay = 0.9; });

  std::set<std::string> listed;
  const TrainOptions options;
  TrainOptions::fields_of_identity(
      options, [&](std::string_view name, const auto&, auto&&...) { listed.emplace(name); });
  EXPECT_EQ(seen, listed);
}

TEST_F(OptionTest, ExpertsAreBalancedAndTheirLoadIsReported) {
  Job job;
  job.options = base();
  job.options.log_every = 3;
  job.config.experts = 3;
  job.config.experts_top_k = 2;
  std::set<std::string> weights;
  for (const double balance : {0.0, 0.1}) {
    job.name = concat("balance ", balance);
    job.options.balance = balance;
    Recorder recorder;
    TinyRun::run(job, recorder);
    weights.insert(weights_hash(job.name));
    ASSERT_THAT(recorder.trained_, SizeIs(2));
    const std::vector<ExpertUse>& experts = recorder.trained_[1].experts;
    ASSERT_THAT(experts, SizeIs(2));
    EXPECT_EQ(experts[0].module, "encoder.layers.0");
    EXPECT_EQ(experts[1].module, "decoder.layers.0");
    for (const ExpertUse& use : experts) {
      ASSERT_THAT(use.load, SizeIs(3));
      EXPECT_NEAR(use.load[0] + use.load[1] + use.load[2], 1, 1e-6);
      EXPECT_GT(use.balance, 0.5);
      EXPECT_LT(use.balance, 3);
    }
    const Json line = metrics(job.name).back();
    EXPECT_EQ(line["experts"]["encoder.layers.0"]["load"][2].get<double>(), experts[0].load[2]);
    EXPECT_EQ(line["experts"]["decoder.layers.0"]["balance"].get<double>(), experts[1].balance);
  }
  EXPECT_THAT(weights, SizeIs(2));
}

TEST_F(OptionTest, StepsAndEpochsEndTheRunWhicheverComesFirst) {
  TrainOptions o = base();
  Recorder recorder;
  run("steps", o, recorder);
  EXPECT_EQ(state_.step, 6u);
  o.steps = 0;
  o.epochs = 2;
  run("epochs", o, recorder);
  EXPECT_EQ(state_.epoch, 2u);
  const uint64_t two_epochs = state_.step;
  EXPECT_GT(two_epochs, 6u);
  o.steps = two_epochs - 1;
  run("both", o, recorder);
  EXPECT_EQ(state_.step, two_epochs - 1);
}

TEST_F(OptionTest, LogsEveryNUpdatesWithAveragesOverThem) {
  TrainOptions o = base();
  o.log_every = 1;
  Recorder each, pairs;
  run("each", o, each);
  o.log_every = 4;  // and the rest at the end
  run("fours", o, pairs);
  ASSERT_THAT(each.trained_, SizeIs(6));
  ASSERT_THAT(pairs.trained_, SizeIs(2));
  EXPECT_EQ(pairs.trained_[0].step, 4u);
  EXPECT_EQ(pairs.trained_[1].step, 6u);
  double nll = 0, norm = 0;
  uint64_t tokens = 0;
  for (size_t i = 0; i < 4; ++i) {
    const uint64_t here = each.trained_[i].target_tokens - tokens;
    nll += each.trained_[i].loss * static_cast<double>(here);
    tokens = each.trained_[i].target_tokens;
    norm += each.trained_[i].grad_norm / 4;
  }
  EXPECT_EQ(pairs.trained_[0].target_tokens, tokens);
  EXPECT_NEAR(pairs.trained_[0].loss, nll / static_cast<double>(tokens), 1e-9);
  EXPECT_NEAR(pairs.trained_[0].grad_norm, norm, 1e-9);
  EXPECT_EQ(each.trained_[1].lr, 0.01);  // the end of warm-up
}

TEST_F(OptionTest, ValidatesEveryNUpdatesAndAtTheEnd) {
  TrainOptions o = base();
  o.valid_every = 4;
  Recorder recorder;
  run("fours", o, recorder, true);
  ASSERT_THAT(recorder.validated_, SizeIs(2));
  EXPECT_EQ(recorder.validated_[0].step, 4u);
  EXPECT_EQ(recorder.validated_[1].step, 6u);
  EXPECT_NEAR(recorder.validated_[0].perplexity, std::exp(recorder.validated_[0].loss), 1e-9);
  o.valid_every = 0;
  o.steps = 0;
  o.epochs = 3;
  Recorder epochs;
  run("epochs", o, epochs, true);
  EXPECT_THAT(epochs.validated_, SizeIs(3));
}

TEST_F(OptionTest, SavesEveryNUpdatesAndKeepsTheLast) {
  TrainOptions o = base();
  o.save_every = 2;
  o.keep_last = 2;
  o.steps = 7;
  Recorder recorder;
  run("twos", o, recorder);
  EXPECT_THAT(recorder.saved_, ElementsAre(2, 4, 6, 7));
  EXPECT_THAT(CheckpointStore(folder("twos") / "checkpoints").steps(), ElementsAre(6, 7));
}

TEST_F(OptionTest, UnlessToldShortEpochsShareACheckpoint) {
  TrainOptions o = base();
  o.steps = 130;
  Recorder recorder;
  run("short", o, recorder);
  ASSERT_THAT(recorder.saved_, SizeIs(2));  // the first end of an epoch from 100 on, and the last
  EXPECT_GE(recorder.saved_[0], 100u);
  EXPECT_LT(recorder.saved_[0], 115u);
}

TEST_F(OptionTest, MetricsFileHasItsKeys) {
  TrainOptions o = base();
  o.metric = "perplexity";
  Recorder recorder;
  run("run", o, recorder, true);
  std::set<std::string> kinds;
  for (const Json& line : metrics("run")) {
    kinds.insert(line["kind"].get<std::string>());
    std::vector<std::string> keys = {"step", "epoch", "loss", "seconds"};
    if (line["kind"] == "train") {
      keys.insert(keys.end(),
                  {"objective", "lr", "grad_norm", "target_tokens", "tokens_per_s", "skipped"});
    } else {
      keys.insert(keys.end(), {"perplexity", "best"});
    }
    for (const std::string& key : keys) EXPECT_TRUE(line.contains(key)) << line << key;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"train", "valid"}));
}

}  // namespace
}  // namespace rapt::testing
