// Running statistics of BatchNorm are part of a run: they do not depend on threads or on a stop, a
// failed update leaves them alone, and every file of weights has them.
#include <gmock/gmock.h>

#include <limits>
#include <utility>

#include "rapt/testing/expect.h"
#include "rapt/train/averaging.h"
#include "rapt/train/tiny_run_test.h"

namespace rapt::testing {
namespace {

constexpr const char* kMean = "encoder.layers.0.norm1.running_mean";
constexpr const char* kCount = "encoder.layers.0.norm1.num_batches_tracked";

class RunningStatisticsTest : public TinyRun {
 protected:
  static Job job(const char* name) {
    Job job;
    job.name = name;
    job.config.norm = NormKind::kBatch;
    job.options.steps = 12;
    job.options.save_every = 4;
    job.options.shards = 2;
    job.options.ema_decay = 0.9;
    job.valid = true;
    job.options.metric = "loss";
    return job;
  }
};

TEST_F(RunningStatisticsTest, NeitherThreadsNorAStopChangeABit) {
  Recorder whole;
  run(job("whole"), whole);
  const RunState end = state_;
  Job three = job("three");
  three.threads = 3;
  run(three, whole);
  EXPECT_EQ(hashes("three"), hashes("whole"));
  for (const uint64_t stop : {3, 7, 0}) {
    Recorder part;
    part.stop_after = stop;
    run(job("parts"), part);
  }
  EXPECT_EQ(state_, end);
  EXPECT_EQ(hashes("parts"), hashes("whole"));
}

TEST_F(RunningStatisticsTest, EveryFileOfWeightsHasThem) {
  Recorder recorder;
  run(job("run"), recorder);
  const fs::path checkpoints = folder("run") / "checkpoints";
  const TensorMap last = read_safetensors(checkpoints / "step-00000012" / "model.safetensors");
  const TensorMap ema = read_safetensors(checkpoints / "step-00000012" / "ema.safetensors");
  EXPECT_GT(last.at(kCount).host()[0], 12);  // one a shard
  expect_same_bits(ema.at(kMean), last.at(kMean));
  expect_same_bits(model_->parameters().find(kMean)->value, last.at(kMean));
  EXPECT_TRUE(read_safetensors(folder("run") / "model.safetensors").contains(kMean));

  const TensorMap before = read_safetensors(checkpoints / "step-00000008" / "model.safetensors");
  const fs::path files[] = {checkpoints / "step-00000008" / "model.safetensors",
                            checkpoints / "step-00000012" / "model.safetensors"};
  const TensorMap average = average_weights(files);
  for (size_t i = 0; i < last.at(kMean).size(); ++i) {
    EXPECT_NEAR(average.at(kMean).host()[i],
                (before.at(kMean).host()[i] + last.at(kMean).host()[i]) / 2, 1e-7);
  }
}

TEST_F(RunningStatisticsTest, AnUpdateThatFailedLeavesThemAlone) {
  ModelConfig config = tiny_run_config();
  config.norm = NormKind::kBatch;
  Transformer model(config, 9, 9);
  Shard shard;
  shard.source = shard.target = Lengths::of(std::vector<uint32_t>{3, 4});
  shard.source_ids = shard.target_in = shard.target_out = {1, 2, 3, 4, 5, 6, 7};
  Pool pool(1);
  Stepper stepper(model, tiny_run_options(), pool);
  const Tensor& mean = model.parameters().find(kMean)->value;
  const Tensor& count = model.parameters().find(kCount)->value;
  EXPECT_FALSE(stepper.run({{shard, shard}, 14}, 1, 1, 1e-3).fault);
  EXPECT_EQ(count.host()[0], 2);  // one a shard
  const Tensor before = mean.clone();
  float& broken = model.parameters().find("output.weight")->value.host()[0];
  const float value = std::exchange(broken, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(stepper.run({{shard, shard}, 14}, 2, 2, 1e-3).fault);
  expect_same_bits(mean, before);
  EXPECT_EQ(count.host()[0], 2);
  broken = value;
  EXPECT_FALSE(stepper.run({{shard}, 7}, 3, 2, 1e-3).fault);
  EXPECT_EQ(count.host()[0], 3);
}

}  // namespace
}  // namespace rapt::testing
