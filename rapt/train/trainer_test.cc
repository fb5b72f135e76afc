#include "rapt/train/trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "rapt/train/tiny_run_test.h"

namespace rapt::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

using TrainerTest = TinyRun;

TEST_F(TrainerTest, ThreadsChangeNoBit) {
  Job job;
  job.options.steps = 50;
  job.options.save_every = 25;
  job.options.ema_decay = 0.9;
  std::vector<std::map<std::string, std::string>> files;
  for (const size_t threads : {1, 2, 3}) {
    job.name = concat("threads-", threads);
    job.threads = threads;
    Recorder recorder;
    EXPECT_EQ(run(job, recorder), TrainEnd::kLimit);
    EXPECT_EQ(state_.step, 50u);
    files.push_back(hashes(job.name));
    EXPECT_THAT(files.back(),
                Contains(::testing::Key("checkpoints/step-00000050/ema.safetensors")));
  }
  EXPECT_EQ(files[1], files[0]);
  EXPECT_EQ(files[2], files[0]);
}

TEST_F(TrainerTest, ARunThatWasStoppedEndsAsOneThatWasNot) {
  Job job;
  job.options.epochs = 4;
  job.options.metric = "loss";
  job.options.ema_decay = 0.95;
  job.options.save_every = 3;
  job.options.shards = 2;
  job.valid = true;
  job.name = "whole";
  Recorder whole;
  EXPECT_EQ(run(job, whole), TrainEnd::kLimit);
  const RunState end = state_;
  job.name = "parts";
  std::vector<TrainLine> lines;
  TrainEnd how = TrainEnd::kStopped;
  for (uint64_t stop : {1, 4, 5, 13, 0}) {
    Recorder part;
    part.stop_after = stop;
    how = run(job, part);
    EXPECT_EQ(how, stop > 0 ? TrainEnd::kStopped : TrainEnd::kLimit);
    EXPECT_TRUE(stop == 0 || state_.step == stop);
    lines.insert(lines.end(), part.trained_.begin(), part.trained_.end());
  }
  EXPECT_EQ(state_, end);
  EXPECT_EQ(hashes("parts"), hashes("whole"));
  ASSERT_EQ(lines.size(), whole.trained_.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].loss, whole.trained_[i].loss);
    EXPECT_EQ(lines[i].objective, whole.trained_[i].objective);
    EXPECT_EQ(lines[i].grad_norm, whole.trained_[i].grad_norm);
    EXPECT_EQ(lines[i].target_tokens, whole.trained_[i].target_tokens);
  }
  size_t resumes = 0;
  for (const Json& line : metrics("parts")) resumes += line["kind"] == "resume";
  EXPECT_EQ(resumes, 4u);
}

TEST_F(TrainerTest, AStopInTheMiddleOfAValidationRepeatsIt) {
  Job job;
  job.options.epochs = 2;
  job.options.metric = "wer";
  job.valid = true;
  job.name = "whole";
  uint64_t calls = 0;
  job.decode = [&](const Transformer&) -> std::optional<DecodedMetrics> {
    return DecodedMetrics{{{"wer", static_cast<double>(++calls)}}, {}};
  };
  Recorder whole;
  run(job, whole);
  const RunState end = state_;

  job.name = "parts";
  calls = 0;
  Recorder stopped;
  Job stopping = job;
  stopping.decode = [&](const Transformer&) -> std::optional<DecodedMetrics> {
    stopped.stop = true;
    return std::nullopt;
  };
  EXPECT_EQ(run(stopping, stopped), TrainEnd::kStopped);
  EXPECT_TRUE(stopped.validated_.empty());
  Recorder rest;
  EXPECT_EQ(run(job, rest), TrainEnd::kLimit);
  EXPECT_EQ(rest.validated_.size(), 2u);
  EXPECT_EQ(state_, end);
  EXPECT_EQ(hashes("parts"), hashes("whole"));
}

TEST_F(TrainerTest, ARunThatIsOverDoesNothing) {
  Job job;
  job.options.steps = 3;
  Recorder first, again;
  run(job, first);
  const auto before = hashes(job.name);
  const size_t lines = metrics(job.name).size();
  EXPECT_EQ(run(job, again), TrainEnd::kLimit);
  EXPECT_TRUE(again.progress_.empty());
  EXPECT_TRUE(again.saved_.empty());
  EXPECT_EQ(metrics(job.name).size(), lines);
  EXPECT_EQ(hashes(job.name), before);
}

TEST_F(TrainerTest, MoreStepsGoOn) {
  Job job;
  job.options.steps = 8;
  job.name = "whole";
  Recorder recorder;
  run(job, recorder);
  const std::string whole = weights_hash(job.name);
  job.name = "parts";
  job.options.steps = 5;
  run(job, recorder);
  job.options.steps = 8;
  run(job, recorder);
  EXPECT_EQ(weights_hash(job.name), whole);
}

TEST_F(TrainerTest, AccumulationAndShardsAreTheSameUpdate) {
  Job job;
  job.options.steps = 6;
  std::vector<std::string> weights;
  for (const auto& [tokens, accumulate, shards] :
       {std::array<size_t, 3>{240, 1, 4}, {120, 2, 2}, {60, 4, 1}, {240, 1, 1}}) {
    job.name = concat(tokens, '-', accumulate, '-', shards);
    job.options.batch_tokens = tokens;
    job.options.accumulate = accumulate;
    job.options.shards = shards;
    Recorder recorder;
    run(job, recorder);
    weights.push_back(weights_hash(job.name));
  }
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
  EXPECT_NE(weights[3], weights[0]);  // another S is another order of summation
}

constexpr const char* kWatched = "encoder.layers.0.norm1.weight";

float watched(const Transformer& model) {
  return model.parameters().find(kWatched)->value.host()[0];
}
float watched(const fs::path& file) { return read_safetensors(file).at(kWatched).host()[0]; }

// Each validation is told its value: 5, 3, 4, 4, …
class ScriptedMetric {
 public:
  explicit ScriptedMetric(std::string name) : name_(std::move(name)) {}
  std::optional<DecodedMetrics> operator()(const Transformer& model) {
    const double value = calls_ == 0 ? 5 : calls_ == 1 ? 3 : 4;
    ++calls_;
    seen.push_back(watched(model));
    return DecodedMetrics{{{name_, value}}, {{"a", "b", "c"}}};
  }
  std::vector<float> seen;

 private:
  std::string name_;
  int calls_ = 0;
};

TEST_F(TrainerTest, TheModelIsTheBestByTheMetricAndPatienceEnds) {
  for (const bool higher : {false, true}) {
    ScriptedMetric metric(higher ? "bleu" : "per");
    Job job;
    job.name = higher ? "bleu" : "per";
    job.options.metric = job.name;
    job.options.valid_every = 2;
    job.options.patience = 3;
    job.options.keep_last = 1;
    job.valid = true;
    job.decode = std::ref(metric);
    Recorder recorder;
    EXPECT_EQ(run(job, recorder), TrainEnd::kPatience);
    const uint64_t best = higher ? 2 : 4;
    EXPECT_EQ(state_.best.found->step, best);
    EXPECT_EQ(state_.step, best + 6);
    const float expected = metric.seen[best / 2 - 1];
    EXPECT_EQ(watched(folder(job.name) / "model.safetensors"), expected);
    // The best checkpoint is kept besides the last.
    EXPECT_THAT(CheckpointStore(folder(job.name) / "checkpoints").steps(),
                ElementsAre(best, state_.step));
    EXPECT_EQ(recorder.validated_[best / 2 - 1].best, true);
    EXPECT_EQ(recorder.validated_.back().best, false);
    EXPECT_EQ(recorder.validated_.back().samples.size(), 1u);
  }
}

TEST_F(TrainerTest, WithAnAverageItIsWhatIsValidatedAndWritten) {
  ScriptedMetric metric("per");
  Job job;
  job.options.steps = 4;
  job.options.ema_decay = 0.9;
  job.options.metric = "per";
  job.valid = true;
  job.decode = std::ref(metric);
  Recorder recorder;
  run(job, recorder);
  const fs::path last = folder(job.name) / "checkpoints/step-00000004";
  const float average = watched(last / "ema.safetensors");
  const float weight = watched(last / "model.safetensors");
  EXPECT_NE(average, weight);
  EXPECT_EQ(metric.seen, std::vector<float>{average});
  EXPECT_EQ(watched(folder(job.name) / "model.safetensors"), average);
  EXPECT_EQ(watched(*model_), weight);  // exchanged back
}

TEST_F(TrainerTest, WithoutAMetricTheModelIsTheLast) {
  Job job;
  job.options.steps = 7;
  Recorder recorder;
  run(job, recorder);
  EXPECT_EQ(weights_hash(job.name),
            sha256_of_file(folder(job.name) / "checkpoints/step-00000007/model.safetensors"));
}

TEST_F(TrainerTest, ADamagedCheckpointCostsTheStepsSinceTheOneBefore) {
  Job job;
  job.options.steps = 9;
  job.options.save_every = 3;
  job.name = "whole";
  Recorder recorder;
  run(job, recorder);
  const auto whole = hashes(job.name);
  job.name = "damaged";
  Recorder stopping;
  stopping.stop_after = 6;
  run(job, stopping);
  fs::resize_file(folder(job.name) / "checkpoints/step-00000006/optimizer.safetensors", 50);
  Recorder resumed;
  run(job, resumed);
  EXPECT_EQ(resumed.progress_.front().step, 4u);
  EXPECT_EQ(hashes(job.name), whole);
}

TEST_F(TrainerTest, WhatAKilledProcessLeftGoes) {
  Job job;
  job.options.steps = 2;
  Recorder recorder;
  run(job, recorder);
  const fs::path staged = folder(job.name) / "checkpoints/step-00000009.tmp";
  fs::create_directories(staged);
  write_file(staged / "model.safetensors", "half");
  write_file(folder(job.name) / "model.safetensors.tmp-1-0", "half");
  run(job, recorder);
  EXPECT_FALSE(fs::exists(staged));
  EXPECT_FALSE(fs::exists(folder(job.name) / "model.safetensors.tmp-1-0"));
}

TEST_F(TrainerTest, RefusesOtherDataAndOptionsThatDoNotFit) {
  Job job;
  job.options.steps = 2;
  Recorder recorder;
  run(job, recorder);
  write_file(root_ / "other.tsv", tiny_pairs(81));
  Job other = job;
  other.train_file = "other.tsv";
  EXPECT_THAT([&] { run(other, recorder); },
              ThrowsMessage<InvalidArgument>(HasSubstr("train.items is 81, was 80")));
  other = job;
  other.name = "new";
  other.options.metric = "loss";
  EXPECT_THAT([&] { run(other, recorder); },
              ThrowsMessage<InvalidArgument>(HasSubstr("needs validation data")));
  other.options.metric = "per";
  other.valid = true;
  EXPECT_THAT([&] { run(other, recorder); },
              ThrowsMessage<InvalidArgument>(HasSubstr("needs decoding")));
}

// One weight is NaN during step 3.
TEST_F(TrainerTest, AnUpdateThatIsNotFiniteIsNamedSkippedAndCounted) {
  Job job;
  job.options.steps = 6;
  Recorder recorder;
  float kept = 0;
  recorder.on_step = [&](uint64_t step) {
    float& x = model_->parameters().find("encoder.layers.0.linear1.weight")->value.host()[5];
    if (step == 2) kept = std::exchange(x, std::nanf(""));
    if (step == 3) {
      EXPECT_TRUE(std::isnan(x));
      x = kept;
    }
  };
  EXPECT_EQ(run(job, recorder), TrainEnd::kLimit);
  EXPECT_EQ(state_.step, 6u);
  EXPECT_EQ(state_.applied, 5u);
  EXPECT_EQ(state_.skipped, 1u);
  EXPECT_EQ(recorder.trained_.back().skipped, 1u);
  ASSERT_EQ(recorder.warnings_.size(), 1u);
  EXPECT_THAT(recorder.warnings_[0],
              AllOf(HasSubstr("step 3: the loss is not finite"), HasSubstr("(value)"),
                    HasSubstr("value of encoder.layers.0.linear1.weight")));
  for (size_t i = 0; i < model_->parameters().size(); ++i) {
    for (const float x : model_->parameters()[i].value.host()) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST_F(TrainerTest, FiveInARowEndTheRunAndTheCheckpointStays) {
  Job job;
  job.options.steps = 30;
  job.options.save_every = 2;
  Recorder recorder;
  recorder.on_step = [&](uint64_t step) {
    if (step == 5) model_->parameters().find(kWatched)->value.host()[0] = INFINITY;
  };
  EXPECT_THAT([&] { run(job, recorder); },
              ThrowsMessage<TrainingFailed>(HasSubstr("5 updates in a row were not finite")));
  EXPECT_EQ(recorder.warnings_.size(), 5u);
  std::vector<std::string> refused;
  const auto last = CheckpointStore(folder(job.name) / "checkpoints").newest(refused);
  for (const auto& [name, tensor] : read_safetensors(last->path / "model.safetensors")) {
    for (const float x : tensor.host()) ASSERT_TRUE(std::isfinite(x)) << last->path << name;
  }
}

}  // namespace
}  // namespace rapt::testing
