// What a training run is told. What changes the bits of the run is part of its identity
// (run_identity.h); the rest only says when to look, save and stop.
#pragma once
#include <cstdint>
#include <string>

#include "rapt/base/options.h"
#include "rapt/metrics/metric.h"
#include "rapt/ops/linear_cross_entropy.h"

namespace rapt {

enum class ScheduleKind { kInverseSqrt, kLinear, kCosine, kConstant };
enum class OptimizerKind {
  kAdam,   // weight decay is added to the gradient (Kingma and Ba, 2015)
  kAdamW,  // weight decay apart from the moments (Loshchilov and Hutter, 2019)
};
enum class Decay { kMatrices, kAll };

template <>
inline constexpr auto kNames<ScheduleKind> =
    names<ScheduleKind>({{ScheduleKind::kInverseSqrt, "inverse-sqrt"},
                         {ScheduleKind::kLinear, "linear"},
                         {ScheduleKind::kCosine, "cosine"},
                         {ScheduleKind::kConstant, "constant"}});
template <>
inline constexpr auto kNames<OptimizerKind> =
    names<OptimizerKind>({{OptimizerKind::kAdam, "adam"}, {OptimizerKind::kAdamW, "adamw"}});
template <>
inline constexpr auto kNames<Decay> = names<Decay>({{Decay::kMatrices, "matrices"},
                                                    {Decay::kAll, "all"}});
template <>
inline constexpr auto kNames<ops::Smoothing> = names<ops::Smoothing>(
    {{ops::Smoothing::kPytorch, "pytorch"}, {ops::Smoothing::kFairseq, "fairseq"}});

struct TrainOptions {
  uint64_t steps = 0, epochs = 0;
  static constexpr uint64_t kDefaultEpochs = 10;

  size_t batch_tokens = 4096, accumulate = 1, shards = 1;
  size_t max_length = 0;
  uint64_t seed = 1;

  ScheduleKind schedule = ScheduleKind::kInverseSqrt;
  double lr = 1e-3, min_lr = 0;
  uint64_t warmup_steps = 1000;

  OptimizerKind optimizer = OptimizerKind::kAdam;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0;
  Decay decay = Decay::kMatrices;
  double clip_norm = 1;
  double label_smoothing = 0.1;
  ops::Smoothing smoothing = ops::Smoothing::kPytorch;
  double balance = 0.01;
  double ema_decay = 0;

  std::string metric;  // empty: none
  uint64_t valid_every = 0, save_every = 0, log_every = 50;
  size_t keep_last = 3;
  size_t patience = 0;

  // 0: no limit.
  uint64_t last_epoch() const { return epochs == 0 && steps == 0 ? kDefaultEpochs : epochs; }
  // Whether the learning rate of a step depends on how long the run is.
  bool schedule_needs_length() const {
    return schedule == ScheduleKind::kLinear || schedule == ScheduleKind::kCosine;
  }
  // Throws InvalidArgument: a number out of its range, an unknown metric.
  void validate() const {
    check_ranges(*this);
    if (!metric.empty()) metrics::find_metric(metric);
    check(min_lr <= lr, "min_lr is ", min_lr, ", expected at most lr, which is ", lr);
    check(patience == 0 || !metric.empty(), "patience needs a metric to wait for");
  }

  template <class Self, class Visitor>
  static void fields(Self& o, Visitor&& visit) {
    fields_of_identity(o, visit);
    fields_of_pace(o, visit);
  }

  // These change what is computed: a run goes on with the same ones only.
  template <class Self, class Visitor>
  static void fields_of_identity(Self& o, Visitor&& visit) {
    constexpr double kMany = 1e12;
    visit("batch_tokens", o.batch_tokens, Range{1, kMany},
          "target tokens of a batch, with </s>; source tokens up to twice that");
    visit("accumulate", o.accumulate, Range{1, 1 << 16}, "batches of one update");
    visit("shards", o.shards, Range{1, 1 << 16},
          "parts of a batch whose gradients are computed one after another: less memory");
    visit("max_length", o.max_length, Range{0, 1 << 24},
          "longest item in tokens, others are left out; 0: as max-positions");
    visit("seed", o.seed, Range{0, 9e15}, "of weights, order and dropout");
    visit("schedule", o.schedule, "of the learning rate, after warm-up");
    visit("lr", o.lr, Range{0, 1e3}, "learning rate at its highest");
    visit("min_lr", o.min_lr, Range{0, 1e3}, "the schedule does not fall below");
    visit("warmup_steps", o.warmup_steps, Range{0, kMany}, "updates of linear warm-up");
    visit("optimizer", o.optimizer, "adam adds weight decay to gradients, adamw keeps it apart");
    visit("beta1", o.beta1, Range{0, 0.999999999}, "decay of the first moment");
    visit("beta2", o.beta2, Range{0, 0.999999999}, "decay of the second moment");
    visit("eps", o.eps, Range{0, 1}, "added to the root of the second moment");
    visit("weight_decay", o.weight_decay, Range{0, 1e3}, "weight decay; 0: none");
    visit("decay", o.decay, "what decays: matrices, or biases and norms too");
    visit("clip_norm", o.clip_norm, Range{0, 1e9}, "largest norm of the gradient; 0: no limit");
    visit("label_smoothing", o.label_smoothing, Range{0, 0.999},
          "probability given to other classes in training");
    visit("smoothing", o.smoothing,
          "formula of label smoothing: whether the right class takes part");
    visit("balance", o.balance, Range{0, 1e3},
          "weight of the experts' balance in the loss; without --experts it means nothing");
    visit("ema_decay", o.ema_decay, Range{0, 0.999999999},
          "running average of the weights, used for validation and the result; 0: off");
    visit("metric", o.metric,
          "chooses the best model on --valid: " + metrics::metric_names() + "; without, the last");
  }

  template <class Self, class Visitor>
  static void fields_of_pace(Self& o, Visitor&& visit) {
    constexpr double kMany = 1e12;
    visit("steps", o.steps, Range{0, kMany}, "stop after this many updates; 0: no limit");
    visit("epochs", o.epochs, Range{0, kMany},
          "stop after this many epochs; 0: no limit, or 10 when --steps has none either");
    visit("valid_every", o.valid_every, Range{0, kMany},
          "updates between validations; 0: after each epoch");
    visit("save_every", o.save_every, Range{0, kMany},
          "updates between checkpoints; 0: after each epoch, at most one in 100");
    visit("log_every", o.log_every, Range{1, kMany}, "updates between lines of metrics.jsonl");
    visit("keep_last", o.keep_last, Range{1, kMany}, "checkpoints kept, besides the best");
    visit("patience", o.patience, Range{0, kMany},
          "stop after this many validations without a better --metric; 0: never");
  }
};

}  // namespace rapt
