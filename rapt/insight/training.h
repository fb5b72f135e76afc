// Small trainings, for claims that end in a curve of the loss. The task is generated: of a sentence
// of symbols, drawn evenly, an encoder of rapt's own modules names one symbol at each position,
//   reverse  y[i] = x[n - 1 - i]          sort  y = x in rising order
//   echo     y[i] = x[i - 1] where x[i] is 1, else x[i]; the first symbol is 0, and no other one is
// so that chance is ln(symbols) nats and 0 can be reached. A run is a function of its options and
// seed alone: the same bits for any number of threads, so that several runs may share a pool, one a
// task (train_all).
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rapt/base/options.h"
#include "rapt/insight/claim.h"
#include "rapt/nn/embedding.h"
#include "rapt/nn/output.h"
#include "rapt/nn/stack.h"
#include "rapt/train/gradients.h"
#include "rapt/train/optimizer.h"
#include "rapt/train/schedule.h"

namespace rapt::insight {

enum class Task { kReverse, kSort, kEcho };

struct TrainingOptions {
  Task task = Task::kSort;
  size_t symbols = 8, length = 6;
  size_t d_model = 32, heads = 4, d_ff = 64;
  uint64_t steps = 200, warmup_steps = 30;
  size_t batch = 16;
  uint64_t sentences = 0;  // of the training set
  double lr = 2e-3, clip_norm = 1;

  template <class Self, class Visitor>
  static void fields(Self& o, Visitor&& visit) {
    visit("task", o.task, "what the small model learns");
    visit("symbols", o.symbols, Range{2, 4096}, "symbols of the task; chance is their logarithm");
    visit("length", o.length, Range{1, 256}, "symbols of a sentence");
    visit("d_model", o.d_model, Range{2, 1024}, "width of the small model");
    visit("heads", o.heads, Range{1, 64}, "its attention heads; must divide d_model");
    visit("d_ff", o.d_ff, Range{1, 4096}, "inner width of its feed-forward network");
    visit("steps", o.steps, Range{1, 100000}, "updates of each training");
    visit("warmup_steps", o.warmup_steps, Range{0, 100000}, "updates of linear warm-up");
    visit("batch", o.batch, Range{1, 1024}, "sentences of an update");
    visit("sentences", o.sentences, Range{0, 1e9}, "of the training set; 0: every one is new");
    visit("lr", o.lr, Range{0, 10}, "learning rate after warm-up");
    visit("clip_norm", o.clip_norm, Range{0, 1e9}, "largest norm of the gradient; 0: no limit");
  }
  // Throws InvalidArgument: a number out of its range, d_model not divisible by heads.
  void validate() const;
  // Sizes for the layers of a model; the claim chooses the rest.
  nn::LayerOptions layer() const { return {.d_model = d_model, .heads = heads, .d_ff = d_ff}; }
};

struct TaskBatch {
  Lengths sentences;
  std::vector<int32_t> ids, answers;  // one a row
};
// Sentences number `first`, first + 1, … of the seed's language.
TaskBatch task_batch(const TrainingOptions& options, uint64_t seed, uint64_t first, size_t count);

// Embedding with sinusoidal positions, `layers` encoder layers, output projection.
class TaskModel {
 public:
  // Causal: no position sees those after it.
  TaskModel(const nn::LayerOptions& options, size_t layers, bool final_norm, size_t symbols,
            uint64_t seed, bool causal = false);

  ParameterSet& parameters() { return parameters_; }
  const ParameterSet& parameters() const { return parameters_; }
  const nn::Encoder& encoder() const { return *encoder_; }
  bool causal() const { return causal_; }
  Var embed(Context& ctx, const TaskBatch& batch) const {
    return (*embedding_)(ctx, batch.ids, batch.sentences);
  }
  Var encode(Context& ctx, const TaskBatch& batch) const {
    const ops::Band band = causal_ ? ops::Band::causal_top_left() : ops::Band::none();
    return (*encoder_)(ctx, embed(ctx, batch), batch.sentences, band);
  }
  // Sums over the rows of the batch; `y` is what encode() gave.
  ops::CrossEntropy loss(Context& ctx, const Var& y, const TaskBatch& batch) const {
    return output_->loss(ctx, y, batch.answers, {});
  }
  ops::CrossEntropy loss(Context& ctx, const TaskBatch& batch) const {
    return loss(ctx, encode(ctx, batch), batch);
  }

 private:
  ParameterSet parameters_;
  bool causal_;
  std::optional<nn::Embedding> embedding_;
  std::optional<nn::Encoder> encoder_;
  std::optional<nn::Output> output_;
};

// One whose layers are joined in this way: with the constants of DeepNorm where they are wanted, and a
// final norm where rapt's models have one, for all kinds but none and plain.
std::unique_ptr<TaskModel> residual_model(const TrainingOptions& options, Residual residual,
                                          size_t layers, uint64_t seed);

// Nats a position of a batch, without an update …
double mean_loss(const TaskModel& model, const TaskBatch& batch, Pool& pool);
// … and of sentences that no training has seen.
double held_out_loss(const TaskModel& model, const TrainingOptions& options, uint64_t seed,
                     size_t count, Pool& pool);

// One update at a time, for claims that look in between.
class TaskTraining {
 public:
  // Borrows the model and the pool.
  TaskTraining(TaskModel& model, const TrainingOptions& options, uint64_t seed, Pool& pool);

  struct Step {
    double loss = 0, grad_norm = 0;  // nats a position; before clipping
    bool finite = true;              // else nothing was updated
  };
  Step step();

 private:
  TaskModel& model_;
  TrainingOptions options_;
  TrainOptions optimizer_options_;
  uint64_t seed_, step_ = 0;
  Context ctx_;
  GradientSum gradient_;
  Optimizer optimizer_;
  Schedule schedule_;
};

struct Curve {
  std::vector<double> loss, grad_norm;  // of each update; shorter when a value was not finite
  bool finite = true;

  // Mean of the last `window` losses; infinite when the run did not stay finite.
  double end(size_t window = 20) const;
  // The first update, from 1, at which the mean of the last `window` losses is at most `loss`.
  std::optional<size_t> reaches(double loss, size_t window = 10) const;
};
Curve train(TaskModel& model, const TrainingOptions& options, uint64_t seed, Pool& pool);

// Independent runs, each on one thread of the pool: make(i) gives the model of run i, whose options
// and seed are the same.
std::vector<Curve> train_all(size_t runs, const TrainingOptions& options, uint64_t seed,
                             const std::function<std::unique_ptr<TaskModel>(size_t)>& make,
                             Pool& pool);

// The task and its sizes, for a caption.
std::string describe(const TrainingOptions& options, const Setting& setting);

// Means over windows of a curve, at most `points` of them, with the update in the middle of each.
struct SmoothCurve {
  std::vector<double> step, loss;
};
SmoothCurve smooth(const std::vector<double>& loss, size_t points = 60);

}  // namespace rapt::insight

namespace rapt {
template <>
inline constexpr auto kNames<insight::Task> =
    names<insight::Task>({{insight::Task::kReverse, "reverse"},
                          {insight::Task::kSort, "sort"},
                          {insight::Task::kEcho, "echo"}});
}  // namespace rapt
