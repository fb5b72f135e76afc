// Whole runs that take a fraction of a second: short words and the same words backwards, a model of
// one layer a side.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "rapt/base/philox.h"
#include "rapt/models/model_directory.h"
#include "rapt/train/sha256.h"
#include "rapt/train/trainer.h"

namespace rapt::testing {

inline std::string tiny_pairs(uint32_t lines, uint32_t salt = 0) {
  std::string text;
  for (uint32_t i = 0; i < lines; ++i) {
    const PhiloxBlock draw = philox({i, salt, 0, 0}, 7);
    std::string word;
    for (uint32_t n = 0; n < 1 + draw[0] % 7; ++n) {
      word.push_back(static_cast<char>('a' + (draw[1] >> 4 * n) % 6));
    }
    text += word + '\t' + std::string(word.rbegin(), word.rend()) + '\n';
  }
  return text;
}

inline ModelConfig tiny_run_config() {
  ModelConfig c;
  c.d_model = 16;
  c.heads = 2;
  c.d_ff = 24;
  c.encoder_layers = c.decoder_layers = 1;
  c.max_positions = 32;
  return c;
}

inline TrainOptions tiny_run_options() {
  TrainOptions o;
  o.batch_tokens = 60;
  o.warmup_steps = 5;
  o.lr = 0.01;
  o.log_every = 5;
  return o;
}

// Keeps what it is told; stops the run after a step.
class Recorder : public TrainObserver {
 public:
  void started(const RunStart& start) override { start_ = start; }
  void stepped(const Progress& progress) override {
    progress_.push_back(progress);
    if (on_step) on_step(progress.step);
    if (progress.step == stop_after) stop = true;
  }
  void trained(const TrainLine& line) override { trained_.push_back(line); }
  void validated(const ValidLine& line) override { validated_.push_back(line); }
  void saved(uint64_t step) override { saved_.push_back(step); }
  void warned(const std::string& message) override { warnings_.push_back(message); }

  uint64_t stop_after = 0;
  std::function<void(uint64_t step)> on_step;
  std::atomic<bool> stop = false;
  RunStart start_;
  std::vector<Progress> progress_;
  std::vector<TrainLine> trained_;
  std::vector<ValidLine> validated_;
  std::vector<uint64_t> saved_;
  std::vector<std::string> warnings_;
};

class TinyRun : public ::testing::Test {
 protected:
  TinyRun()
      : root_(fs::path(::testing::TempDir()) /
              concat("rapt-train-", ::getpid(), '-',
                     ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
    write_file(root_ / "train.tsv", tiny_pairs(80));
    write_file(root_ / "valid.tsv", tiny_pairs(20, 1));
  }
  ~TinyRun() override { fs::remove_all(root_); }

  // What a run is made of. The same name goes on with the run of that name.
  struct Job {
    std::string name = "model";
    TrainOptions options = tiny_run_options();
    ModelConfig config = tiny_run_config();
    size_t threads = 1;
    bool valid = false;
    DecodeFunction decode;
    std::string train_file = "train.tsv";
  };

  TrainEnd run(const Job& job, Recorder& recorder) {
    Pool pool(job.threads);
    const ParallelCorpus pairs = ParallelCorpus::open({root_ / job.train_file});
    const TextProcessor text = TextProcessor::build(TextOptions(), pairs);
    BatchOptions batches;
    batches.seed = job.options.seed;
    batches.batch_tokens = job.options.batch_tokens;
    batches.accumulate = job.options.accumulate;
    batches.shards = job.options.shards;
    batches.max_length = job.options.max_length > 0 ? job.options.max_length : 32;
    const BatchPlan plan(pairs, text, batches, pool);
    std::optional<BatchPlan> valid;
    if (job.valid) {
      valid.emplace(ParallelCorpus::open({root_ / "valid.tsv"}), text,
                    BatchOptions::validation(100, 32), pool);
    }
    model_.emplace(job.config, text.source().size(), text.target().size(),
                   InitOptions{.seed = job.options.seed});
    const fs::path directory = folder(job.name);
    fs::create_directories(directory);
    TrainSetup setup;
    setup.directory = directory;
    setup.options = job.options;
    setup.told = {{"name", job.name}};
    std::vector<std::string> refused;
    setup.resume = CheckpointStore(directory / "checkpoints").newest(refused);
    setup.decode = job.decode;
    setup.stop = &recorder.stop;
    Trainer trainer(*model_, plan, valid ? &*valid : nullptr, std::move(setup), recorder, pool);
    const TrainEnd end = trainer.run();
    state_ = trainer.state();
    return end;
  }

  fs::path folder(const std::string& name) const { return root_ / name; }
  // SHA-256 of every file of a run but metrics.jsonl, which has times in it.
  std::map<std::string, std::string> hashes(const std::string& name) const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder(name))) {
      if (!entry.is_regular_file() || entry.path().filename() == "metrics.jsonl") continue;
      // state.json names the run, manifest.json has the hash of state.json.
      if (entry.path().extension() == ".json") continue;
      all[fs::relative(entry.path(), folder(name)).string()] = sha256_of_file(entry.path());
    }
    return all;
  }
  std::string weights_hash(const std::string& name) const {
    return sha256_of_file(folder(name) / "model.safetensors");
  }
  std::vector<Json> metrics(const std::string& name) const {
    std::vector<Json> lines;
    LineReader reader(folder(name) / "metrics.jsonl");
    for (std::string line; reader.next(line);) lines.push_back(parse_json(line, "metrics.jsonl"));
    return lines;
  }

  const fs::path root_;
  std::optional<Transformer> model_;  // of the last run
  RunState state_;                    // at its end
};

}  // namespace rapt::testing
