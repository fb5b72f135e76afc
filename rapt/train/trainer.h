// A whole training run in a model directory: updates, validation, the choice of the best model,
// checkpoints, metrics.jsonl.
//   update … update, validate, save, update …
// At each step a run can end and go on later as if it had not: a checkpoint has all that the rest
// depends on, and says whether the validation due at its step was over.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>

#include "rapt/train/checkpoint.h"
#include "rapt/train/metrics_log.h"
#include "rapt/train/observer.h"
#include "rapt/train/schedule.h"
#include "rapt/train/stepper.h"

namespace rapt {

enum class TrainEnd {
  kLimit,     // all steps or epochs are done
  kPatience,  // no better validation for too long
  kStopped,   // the flag was set; saved
};

// Too many updates in a row that were not finite.
class TrainingFailed : public Error {
 public:
  using Error::Error;
};

struct TrainSetup {
  fs::path directory;  // of the model, where config.json is already
  TrainOptions options;
  Json told;                                // all options that the run depends on, by group
  std::optional<Checkpoint> resume;         // go on from here
  DecodeFunction decode;                    // may be empty
  const std::atomic<bool>* stop = nullptr;  // set by a signal
};

class Trainer {
 public:
  static constexpr uint64_t kMostSkipped = 5;  // in a row

  // Borrows everything but `setup`. `valid` may be null. Throws InvalidArgument when options do not
  // fit together or, going on, the data are other ones.
  Trainer(Transformer& model, const BatchPlan& train, const BatchPlan* valid, TrainSetup setup,
          TrainObserver& observer, Pool& pool);

  TrainEnd run();
  const RunState& state() const { return state_; }
  bool over() const;  // a run that ended by its limit or its patience has nothing left to do

 private:
  using Clock = std::chrono::steady_clock;

  Json data_identity() const;
  void restore(const Checkpoint& checkpoint);
  void restore_best();
  bool stopped() const { return setup_.stop != nullptr && setup_.stop->load(); }
  bool at_limit() const;
  bool validation_due() const;
  bool save_due() const;
  void update();
  void log_window();
  bool validate();  // false when it was stopped
  std::optional<double> validation_loss();
  void save();
  void report_progress(double loss);
  uint64_t total_steps() const;
  double share_done() const;
  double seconds() const;
  uint64_t last_epoch() const;  // that of the last update, from 1

  Transformer& model_;
  const BatchPlan& train_;
  const BatchPlan* valid_;
  TrainSetup setup_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  Pool& pool_;

  const metrics::Metric* metric_ = nullptr;
  Json identity_;
  RunState state_;
  CheckpointStore store_;
  Stepper stepper_;
  Schedule schedule_;
  std::optional<MetricsLog> log_;
  std::optional<uint64_t> saved_;  // the step of the last save of this state
  double lr_ = 0;

  Clock::time_point start_ = Clock::now();
  double share_at_start_ = 0;
  double line_seconds_ = 0;  // time and tokens at the last line of the log
  uint64_t line_tokens_ = 0;
};

}  // namespace rapt
