// rapt train: from text to a model directory. The same command goes on with a run that was stopped,
// and does nothing when it is over.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>

#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "apps/rapt/train_options.h"
#include "apps/rapt/train_prepare.h"
#include "apps/rapt/train_progress.h"
#include "apps/rapt/train_validation.h"
#include "rapt/train/run_identity.h"
#include "rapt/train/trainer.h"

namespace rapt::app {
namespace {

std::atomic<bool> stop_asked = false;
std::atomic<int> stop_signal = 0;

extern "C" void on_signal(int signal) {
  if (stop_asked.exchange(true)) _exit(128 + signal);  // the second one ends at once
  stop_signal = signal;
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// The model directory, held by one run at a time.
class RunDirectory {
 public:
  explicit RunDirectory(const fs::path& path) : path_(path) {
    std::error_code error;
    fs::create_directories(path_, error);
    check<IoError>(!error, path_.string(), ": cannot make the directory: ", error.message());
    fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check<IoError>(fd_ >= 0, path_.string(), ": cannot open the directory");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      ::close(fd_);
      throw IoError(path_.string() + ": another training is at work in this directory");
    }
  }
  ~RunDirectory() {
    std::error_code not_empty;
    fs::remove(path_, not_empty);  // a run that failed before it wrote leaves nothing
    ::close(fd_);
  }
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

 private:
  fs::path path_;
  int fd_ = -1;
};

// Training and validation data: pairs, or one text.
class Data {
 public:
  Data(const TrainArguments& a, Pool& pool) : a_(a), pool_(pool) {
    if (a.config.has_encoder()) {
      pairs_.emplace(open(a.train));
      if (!a.valid.empty()) valid_pairs_.emplace(open(a.valid));
    } else {
      text_.emplace(a.text, CorpusOptions(), &pool);
      if (!a.valid.empty()) valid_text_.emplace(a.valid[0], CorpusOptions(), &pool);
    }
  }

  TextProcessor build_text() const {
    return pairs_ ? TextProcessor::build(a_.text_options, *pairs_, &pool_)
                  : TextProcessor::build(a_.text_options.target, *text_, &pool_);
  }

  BatchPlan training(const TextProcessor& text) const {
    BatchOptions options;
    options.seed = a_.training.seed;
    options.batch_tokens = a_.training.batch_tokens;
    options.accumulate = a_.training.accumulate;
    options.shards = a_.training.shards;
    options.max_length = max_length();
    return pairs_ ? BatchPlan(*pairs_, text, options, pool_)
                  : BatchPlan(*text_, text, a_.context, options, pool_);
  }
  std::optional<BatchPlan> validation(const TextProcessor& text) const {
    const auto options =
        BatchOptions::validation(a_.training.batch_tokens, a_.config.max_positions);
    if (valid_pairs_) return BatchPlan(*valid_pairs_, text, options, pool_);
    if (valid_text_) return BatchPlan(*valid_text_, text, a_.context, options, pool_);
    return std::nullopt;
  }
  DecodeFunction decoding(const Model& model) const {
    if (valid_pairs_) {
      return decode_pairs(model, *valid_pairs_, a_.training.metric, stop_asked, pool_);
    }
    if (valid_text_) return continue_lines(model, *valid_text_, a_.context, pool_);
    return {};
  }

  std::string name() const { return pairs_ ? pairs_->name() : text_->name(); }
  std::string valid_name() const { return valid_pairs_ ? valid_pairs_->name() : a_.valid[0]; }

 private:
  ParallelCorpus open(const std::vector<std::string>& paths) const {
    return ParallelCorpus::open({paths.begin(), paths.end()}, {}, &pool_);
  }
  size_t max_length() const {
    return a_.training.max_length > 0 ? a_.training.max_length : a_.config.max_positions;
  }

  const TrainArguments& a_;
  Pool& pool_;
  std::optional<ParallelCorpus> pairs_, valid_pairs_;
  std::optional<TextStream> text_, valid_text_;
};

// Says what was left out and what became <unk>; the number of unknown symbols.
uint64_t report(const BatchPlan& plan, const std::string& name, TrainProgress& progress) {
  const BatchCounts& counts = plan.counts();
  progress.say(concat(name, ": ", counts.used, " item", plural(counts.used), ", ",
                      counts.target_tokens, " target tokens"));
  const std::string left_out = counts.report(plan.options());
  if (!left_out.empty()) progress.warn(name + ": " + left_out);
  for (const UnknownSymbols* unknown : {&plan.unknown_source(), &plan.unknown_target()}) {
    const std::string warning = unknown->warning(name);
    if (!warning.empty()) progress.warn(warning);
  }
  return plan.unknown_source().count() + plan.unknown_target().count();
}

// Where to go on; nothing for a new run. Throws when the directory holds something else.
std::optional<Checkpoint> find_run(const TrainArguments& a, TrainProgress& progress) {
  const CheckpointStore store(fs::path(a.model) / "checkpoints");
  std::vector<std::string> refused;
  std::optional<Checkpoint> found = store.newest(refused);
  for (const std::string& reason : refused) progress.warn(reason + ": not used");
  if (found) {
    check_same_run(JsonObject(found->identity, "state.json").at("options"), a.told(), a.model);
    return found;
  }
  const fs::path config = fs::path(a.model) / "config.json";
  if (fs::exists(config)) {  // of a run that ended before its first checkpoint, or somebody else's
    const Json json = read_json(config);
    check(json.is_object() && json.contains("format_version"), config.string(),
          " is not a model's; choose another directory, this one would be overwritten");
  }
  check(!fs::exists(fs::path(a.model) / "model.safetensors"), a.model,
        " holds a model without checkpoints to go on from; choose another directory for a new one");
  return found;
}

TextProcessor load_text(const fs::path& directory) {
  const Json config = read_json(directory / "config.json");
  return TextProcessor::load(directory, JsonObject(config, (directory / "config.json").string()));
}

std::string ending(const Trainer& trainer, TrainEnd end, const TrainArguments& a) {
  const RunState& state = trainer.state();
  std::string text = end == TrainEnd::kStopped ? "stopped and saved" : "done";
  text += concat(" at step ", state.step);
  if (end == TrainEnd::kPatience) {
    text += concat(": no better ", a.training.metric, " in ", a.training.patience, " validations");
  }
  if (state.skipped > 0) text += concat("; skipped ", state.skipped, " updates");
  if (state.best.found) {
    text +=
        concat("; best ", a.training.metric, ' ', fmt::format("{:.4g}", state.best.found->value),
               " at step ", state.best.found->step);
  }
  return text + (end == TrainEnd::kStopped ? "; the same command goes on"
                                           : "; the model is in " + a.model);
}

int train(const TrainArguments& a) {
  TrainProgress progress(stderr_is_terminal(), a.threads);
  Pool pool(a.threads);
  const Data data(a, pool);
  const RunDirectory directory(a.model);
  std::optional<Checkpoint> found = find_run(a, progress);
  const TextProcessor text = found ? load_text(a.model) : data.build_text();
  const BatchPlan plan = data.training(text);
  const std::optional<BatchPlan> valid = data.validation(text);
  uint64_t unknown = report(plan, data.name(), progress);
  if (valid) unknown += report(*valid, data.valid_name(), progress);
  if (a.strict && unknown > 0) return kFailed;

  Model model{Transformer(a.config, text.has_source() ? text.source().size() : 0,
                          text.target().size(), a.init),
              text};
  if (!found) save_config(a.model, a.config, text);
  if (a.prepare) {
    check(!found, a.model, " holds a run that has begun; --prepare needs another directory");
    prepare(a.model, model.transformer, plan, a.training);
    progress.say(concat("the untrained model and batches.jsonl are in ", a.model));
    return kDone;
  }
  TrainSetup setup;
  setup.directory = a.model;
  setup.options = a.training;
  setup.told = a.told();
  setup.resume = std::move(found);
  setup.decode = data.decoding(model);
  setup.stop = &stop_asked;
  Trainer trainer(model.transformer, plan, valid ? &*valid : nullptr, setup, progress, pool);
  if (trainer.over()) {
    progress.say(concat("nothing to do: the training in ", a.model, " ended at step ",
                        trainer.state().step));
    return kDone;
  }
  if (trainer.state().step > 0) {
    progress.say(concat("going on from step ", trainer.state().step, " of ", a.model));
  }
  catch_signals();
  const TrainEnd end = trainer.run();
  progress.say(ending(trainer, end, a));
  if (end != TrainEnd::kStopped) return kDone;
  return stop_signal == SIGTERM ? kTerminated : kInterrupted;
}

}  // namespace

int train_main(const Arguments& arguments) {
  TrainArguments a;
  return parse_train(arguments, a) ? train(a) : kDone;
}

}  // namespace rapt::app
