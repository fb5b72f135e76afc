// Training steps on ragged batches: what tools/peers/torch_train.py does, by rapt.
#include <algorithm>

#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "apps/rapt/bench/pairs.h"
#include "apps/rapt/bench/profile.h"
#include "rapt/train/stepper.h"

namespace rapt::app::bench {
namespace {

constexpr size_t kWarmUp = 3;  // steps before timing
// Updates until the learning rate is full. Adam's first moves every element by the rate, whatever
// its gradient: 49 million at once raise the loss of a batch at the full rate.
constexpr double kRateWarmUp = 10;

// torch.optim.AdamW(lr=1e-4) and cross_entropy(label_smoothing=0.1).
TrainOptions train_options() {
  TrainOptions o;
  o.optimizer = OptimizerKind::kAdamW;
  o.lr = 1e-4;
  o.beta2 = 0.999;
  o.eps = 1e-8;
  o.weight_decay = 0.01;
  o.decay = Decay::kAll;
  o.clip_norm = 0;
  o.label_smoothing = 0.1;
  return o;
}

class Training {
 public:
  Training(const Options& options, size_t vocabulary, Pool& pool)
      : options_(train_options()),
        model_(config_of_size(options.size), vocabulary, vocabulary),
        stepper_(model_, options_, pool) {}

  double step(const Update& update) {  // the loss a target token, with smoothing
    ++steps_;
    const double rate = options_.lr * std::min(1.0, static_cast<double>(steps_) / kRateWarmUp);
    const StepResult result = stepper_.run(update, steps_, steps_, rate);
    check_result(!result.fault, "train: " + result.fault.value_or(""));
    return result.objective / static_cast<double>(update.target_tokens);
  }

  const Transformer& model() const { return model_; }
  Stepper& stepper() { return stepper_; }

 private:
  TrainOptions options_;
  Transformer model_;
  Stepper stepper_;
  uint64_t steps_ = 0;
};

// Of a batch, without dropout.
double loss_of(const Transformer& model, const Shard& shard, Pool& pool) {
  Context ctx(Mode::kInference, pool);
  return model.loss(ctx, shard, {.smoothing = 0.1f}).objective.value().host()[0];
}

struct Counts {
  double target = 0, source = 0, pairs = 0;
};
Counts count(std::span<const Update> updates) {
  Counts all;
  for (const Update& update : updates) {
    all.target += static_cast<double>(update.target_tokens);
    for (const Shard& shard : update.shards) {
      all.source += static_cast<double>(shard.source.rows());
      all.pairs += static_cast<double>(shard.source.sequences());
    }
  }
  return all;
}

}  // namespace

void run_train(const Options& options) {
  Pool pool(options.threads);
  const Pairs pairs = options.data.empty() ? draw_pairs(options.size) : read_pairs(options.data);
  std::vector<Update> batches = make_batches(pairs, options.target_tokens);
  batches.resize(std::min(batches.size(), options.steps));
  Training training(options, pairs.vocabulary, pool);
  const Shard& shard = batches[0].shards[0];
  const double before = loss_of(training.model(), shard, pool);
  Pool alone(1);
  check_result(loss_of(training.model(), shard, alone) == before,
               "train: loss by number of threads");

  const Stopwatch first;
  const double first_loss = training.step(batches[0]);
  const double first_step_s = first.seconds();
  check_result(loss_of(training.model(), shard, pool) < before,
               "train: the loss of a batch does not fall");
  double last_loss = training.step(batches[0]);
  for (size_t i = 1; i < std::min(kWarmUp, batches.size()); ++i) training.step(batches[i]);
  const double memory = peak_rss_mb();  // before the machine is measured, which takes memory

  Machine machine(pool);
  std::vector<Sample> passes;
  for (size_t round = 0; round < options.rounds_or(7); ++round) {
    const Stopwatch watch;
    for (const Update& update : batches) last_loss = training.step(update);
    passes.push_back(watch.sample());
  }
  machine.sample();

  const Counts all = count(batches);
  const auto n = static_cast<double>(batches.size());
  Timing timing = timing_of(passes);
  for (double* ms : {&timing.ms, &timing.ms_median, &timing.cpu_ms}) *ms /= n;
  Json line{{"peer", "rapt"},
            {"case", "train_" + options.size},
            {"mode", "eager"},
            {"threads", options.threads},
            {"dtype", "float32"},
            {"shape",
             {{"target_tokens", all.target / n},
              {"pairs", all.pairs / n},
              {"vocabulary", pairs.vocabulary},
              {"parameters", training.model().parameters().elements()}}},
            {"steps", batches.size()}};
  put(line, timing, options.threads);
  line.update({{"tokens_per_s", 1e3 * all.target / n / timing.ms},
               {"tokens_per_s_median", 1e3 * all.target / n / timing.ms_median},
               {"source_target_tokens_per_s", 1e3 * (all.source + all.target) / n / timing.ms},
               {"padding_percent", 0.0},
               {"first_step_s", first_step_s},
               {"first_loss", first_loss},
               {"last_loss", last_loss},
               {"peak_rss_mb", memory},
               {"peak_gflops", machine.gflops()}});
  emit(std::move(line));
  if (options.profile) {
    Profile profile(training.model().config(), pairs.vocabulary, options.threads);
    profile.watch(training.stepper().context());
    for (size_t round = 0; round < options.rounds_or(3); ++round) {
      for (const Update& update : batches) {
        profile.begin_step(update);
        training.step(update);
        profile.end_step("update");
      }
    }
    profile.unwatch(training.stepper().context());
    profile.emit("profile_" + options.size, machine);
  }
  machine.emit();
}

}  // namespace rapt::app::bench
