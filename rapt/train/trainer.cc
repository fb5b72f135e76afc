#include "rapt/train/trainer.h"

#include <algorithm>

#include "rapt/io/atomic_directory.h"
#include "rapt/metrics/perplexity.h"
#include "rapt/models/model_directory.h"
#include "rapt/train/copy_atomically.h"
#include "rapt/train/memory_estimate.h"
#include "rapt/train/run_identity.h"

namespace rapt {
namespace {

constexpr const char* kWeights = "model.safetensors";
// A set of a few sentences ends an epoch with each update: no checkpoint for each of them, but for
// the first epoch that ends after another hundred.
constexpr uint64_t kUpdatesBetweenSaves = 100;

// Validates and decodes with the averaged weights, where there are any.
class WithAverage {
 public:
  explicit WithAverage(const Optimizer& optimizer) : optimizer_(optimizer) {
    optimizer_.swap_average();
  }
  ~WithAverage() { optimizer_.swap_average(); }
  WithAverage(const WithAverage&) = delete;
  WithAverage& operator=(const WithAverage&) = delete;

 private:
  const Optimizer& optimizer_;
};

// What a killed process left half-written: "model.safetensors.tmp-4711-0" of AtomicFile, staged
// checkpoints.
void remove_leftovers(const fs::path& directory, const fs::path& checkpoints) {
  remove_staged(checkpoints);
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
    const bool staged = entry.path().filename().string().find(".tmp-") != std::string::npos;
    if (staged && entry.is_regular_file()) fs::remove(entry.path(), none);
  }
}

Json counts_json(const BatchCounts& counts) {
  return {{"items", counts.items},
          {"used", counts.used},
          {"content", counts.content},
          {"source_tokens", counts.source_tokens},
          {"target_tokens", counts.target_tokens}};
}

}  // namespace

Trainer::Trainer(Transformer& model, const BatchPlan& train, const BatchPlan* valid,
                 TrainSetup setup, TrainObserver& observer, Pool& pool)
    : model_(model),
      train_(train),
      valid_(valid),
      setup_(std::move(setup)),
      options_(setup_.options),
      observer_(observer),
      pool_(pool),
      store_(setup_.directory / "checkpoints"),
      stepper_(model, options_, pool),
      schedule_(options_, total_steps()) {
  options_.validate();
  if (!options_.metric.empty()) {
    metric_ = &metrics::find_metric(options_.metric);
    check(valid_ != nullptr, "metric is ", options_.metric, ", which needs validation data");
    check(!metric_->needs_decoding() || setup_.decode, "metric is ", options_.metric,
          ", which needs decoding");
  }
  identity_ = {{"options", setup_.told}, {"data", data_identity()}};
  remove_leftovers(setup_.directory, store_.folder());
  if (setup_.resume) restore(*setup_.resume);
  log_.emplace(setup_.directory / "metrics.jsonl", state_.step);
}

Json Trainer::data_identity() const {
  Json data = {{"train", counts_json(train_.counts())}};
  if (metric_ != nullptr) data["valid"] = counts_json(valid_->counts());
  return data;
}

void Trainer::restore(const Checkpoint& checkpoint) {
  const JsonObject before(checkpoint.identity, (checkpoint.path / "state.json").string());
  for (const char* group : {"options", "data"}) {
    check_same_run(before.at(group), identity_[group], setup_.directory.string());
  }
  state_ = checkpoint.state;
  load_weights(checkpoint.path / kWeights, model_.parameters());
  const fs::path optimizer = checkpoint.path / "optimizer.safetensors";
  stepper_.optimizer().load(read_safetensors(optimizer), optimizer.string());
  if (const ParameterBlock* average = stepper_.optimizer().average()) {
    const fs::path file = checkpoint.weights();
    average->load(read_safetensors(file), "", file.string());
  }
  saved_ = state_.step;
  restore_best();
}

// The process may have died between a checkpoint and the copy of its weights.
void Trainer::restore_best() {
  const uint64_t step = state_.best.found ? state_.best.found->step : state_.step;
  try {
    copy_atomically(store_.load(step).weights(), setup_.directory / kWeights);
  } catch (const IoError& error) {
    observer_.warned(concat("the best model so far stays as it is: ", error.what()));
  }
}

TrainEnd Trainer::run() {
  share_at_start_ = share_done();
  line_seconds_ = seconds();
  line_tokens_ = state_.target_tokens;
  observer_.started(
      {.parameters = model_.parameters().elements(),
       .memory = estimate_memory(model_, options_, typical_shard(train_.counts(), options_)),
       .step = state_.step,
       .epoch_steps = train_.updates(state_.epoch)});
  if (state_.step > 0 && !over()) {
    log_->append({{"kind", "resume"}, {"step", state_.step}, {"epoch", last_epoch()}});
  }
  for (;;) {
    if (at_limit()) log_window();
    const uint64_t best = state_.best.found ? state_.best.found->step : 0;
    if (validation_due() && !state_.validated && !validate()) {
      save();
      return TrainEnd::kStopped;
    }
    const bool better = state_.best.found && state_.best.found->step != best;
    const bool limit = at_limit(), patience = state_.best.give_up(options_.patience);
    if (patience) log_window();
    if (better || limit || patience || save_due() || stopped()) save();
    if (limit) return TrainEnd::kLimit;
    if (patience) return TrainEnd::kPatience;
    if (stopped()) return TrainEnd::kStopped;
    update();
  }
}

bool Trainer::at_limit() const {
  return (options_.steps > 0 && state_.step >= options_.steps) ||
         (options_.last_epoch() > 0 && state_.epoch >= options_.last_epoch());
}

bool Trainer::over() const { return at_limit() || state_.best.give_up(options_.patience); }

bool Trainer::validation_due() const {
  if (valid_ == nullptr || state_.step == 0) return false;
  const uint64_t every = options_.valid_every;
  return (every > 0 ? state_.step % every == 0 : state_.index == 0) || at_limit();
}

bool Trainer::save_due() const {
  // While updates fail the weights may be what makes them fail: the last checkpoint stays.
  if (state_.step == 0 || state_.skipped_in_a_row > 0) return false;
  const uint64_t every = options_.save_every;
  if (every > 0) return state_.step % every == 0;
  if (state_.index > 0) return false;
  const uint64_t epoch_start = state_.step - train_.updates(state_.epoch - 1);
  return state_.step / kUpdatesBetweenSaves > epoch_start / kUpdatesBetweenSaves;
}

void Trainer::update() {
  const Update update = train_.at(state_.epoch, state_.index);
  lr_ = schedule_.at(state_.step + 1);
  const StepResult result = stepper_.run(update, state_.step + 1, state_.applied + 1, lr_);
  ++state_.step;
  if (++state_.index == train_.updates(state_.epoch)) {
    ++state_.epoch;
    state_.index = 0;
  }
  state_.validated = false;
  saved_.reset();
  state_.target_tokens += update.target_tokens;
  if (result.fault) {
    ++state_.skipped;
    ++state_.skipped_in_a_row;
    observer_.warned(concat("step ", state_.step, ": ", *result.fault, ": skipped"));
    if (state_.skipped_in_a_row >= kMostSkipped) {
      throw TrainingFailed(
          concat(kMostSkipped, " updates in a row were not finite, the last one ", "because ",
                 *result.fault, ". Lower lr, or raise warmup_steps; the last checkpoint is kept"));
    }
  } else {
    ++state_.applied;
    state_.skipped_in_a_row = 0;
    LogWindow& window = state_.window;
    ++window.updates;
    window.target_tokens += update.target_tokens;
    window.nll += result.nll;
    window.objective += result.objective;
    window.grad_norm += result.grad_norm;
    add_experts(window.experts, result.experts, 1);
  }
  report_progress(result.nll / static_cast<double>(update.target_tokens));
  if (state_.step % options_.log_every == 0) log_window();
}

void Trainer::log_window() {
  const LogWindow window = std::exchange(state_.window, {});
  if (window.updates == 0) return;
  const auto tokens = static_cast<double>(window.target_tokens);
  TrainLine line{.step = state_.step, .epoch = last_epoch()};
  line.loss = window.nll / tokens;
  line.objective = window.objective / tokens;
  line.lr = lr_;
  line.grad_norm = window.grad_norm / static_cast<double>(window.updates);
  add_experts(line.experts, window.experts, 1 / static_cast<double>(window.updates));
  line.target_tokens = state_.target_tokens;
  line.seconds = seconds();
  line.tokens_per_s = static_cast<double>(state_.target_tokens - line_tokens_) /
                      std::max(line.seconds - line_seconds_, 1e-9);
  line.skipped = state_.skipped;
  line_seconds_ = line.seconds;
  line_tokens_ = state_.target_tokens;
  log_->append(to_json(line));
  observer_.trained(line);
}

bool Trainer::validate() {
  const double before = seconds();
  const WithAverage with_average(stepper_.optimizer());
  const std::optional<double> loss = validation_loss();
  if (!loss) return false;
  ValidLine line;
  line.step = state_.step;
  line.epoch = last_epoch();
  line.loss = *loss;
  line.perplexity = metrics::perplexity(*loss);
  if (setup_.decode) {
    std::optional<DecodedMetrics> decoded = setup_.decode(model_);
    if (!decoded) return false;
    line.decoded = std::move(decoded->values);
    line.samples = std::move(decoded->samples);
  }
  if (metric_ != nullptr) {
    double value = 0;
    if (metric_->needs_decoding()) {
      const auto found = std::ranges::find(line.decoded, metric_->name, [](const auto& named) {
        return std::string_view(named.first);
      });
      check(found != line.decoded.end(), "decoding gave no ", metric_->name);
      value = found->second;
    } else {
      value = metric_->from_loss(*loss);
    }
    line.best = state_.best.update(*metric_, state_.step, value);
  }
  state_.validated = true;
  saved_.reset();
  line.seconds = seconds();
  line_seconds_ += line.seconds - before;  // tokens_per_s is that of training
  log_->append(to_json(line));
  observer_.validated(line);
  return true;
}

std::optional<double> Trainer::validation_loss() {
  Context ctx(Mode::kInference, pool_);
  double nll = 0;
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < valid_->updates(0); ++i) {
    if (stopped()) return std::nullopt;
    const Update update = valid_->at(0, i);
    for (const Shard& shard : update.shards) {
      nll += static_cast<double>(model_.loss(ctx, shard, {}).nll.host()[0]);
    }
    tokens += update.target_tokens;
  }
  return metrics::loss_per_token(-nll, tokens);
}

void Trainer::save() {
  if (saved_ == state_.step || state_.step == 0) return;
  store_.save(state_, identity_, [&](const fs::path& directory) {
    save_weights(directory / kWeights, model_.parameters());
    TensorMap moments;
    stepper_.optimizer().store(moments);
    write_safetensors(directory / "optimizer.safetensors", moments);
    if (const ParameterBlock* average = stepper_.optimizer().average()) {
      TensorMap values;
      average->store(values, "");
      // Running statistics are averages already: those of the run serve both.
      for (const auto& buffer : model_.parameters().buffers()) {
        values.emplace(buffer->name, buffer->value);
      }
      write_safetensors(directory / "ema.safetensors", values);
    }
  });
  saved_ = state_.step;
  const std::optional<Best::Found>& best = state_.best.found;
  if (!best || best->step == state_.step) {
    const Checkpoint last{store_.path(state_.step), state_, {}};
    copy_atomically(last.weights(), setup_.directory / kWeights);
  }
  store_.prune(state_.step, options_.keep_last, best ? std::optional(best->step) : std::nullopt);
  observer_.saved(state_.step);
}

void Trainer::report_progress(double loss) {
  const double now = seconds(), done = share_done();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  observer_.stepped(
      {.step = state_.step,
       .epoch = last_epoch(),
       .loss = loss,
       .tokens_per_s = static_cast<double>(state_.target_tokens - line_tokens_) /
                       std::max(now - line_seconds_, 1e-9),
       .done = done,
       .seconds_left = elapsed * (1 - done) / std::max(done - share_at_start_, 1e-9)});
}

uint64_t Trainer::total_steps() const {
  uint64_t total = 0;
  if (!options_.schedule_needs_length()) return total;
  for (uint64_t epoch = 0; epoch < options_.last_epoch(); ++epoch) total += train_.updates(epoch);
  return options_.steps > 0 && (total == 0 || options_.steps < total) ? options_.steps : total;
}

double Trainer::share_done() const {
  double share = 0;
  if (options_.steps > 0) {
    share = static_cast<double>(state_.step) / static_cast<double>(options_.steps);
  }
  if (const uint64_t epochs = options_.last_epoch(); epochs > 0) {
    const double part =
        static_cast<double>(state_.index) / static_cast<double>(train_.updates(state_.epoch));
    share =
        std::max(share, (static_cast<double>(state_.epoch) + part) / static_cast<double>(epochs));
  }
  return std::min(share, 1.0);
}

double Trainer::seconds() const {
  return log_->seconds() + std::chrono::duration<double>(Clock::now() - start_).count();
}

uint64_t Trainer::last_epoch() const { return state_.epoch + (state_.index > 0 ? 1 : 0); }

}  // namespace rapt
