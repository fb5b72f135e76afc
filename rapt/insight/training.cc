#include "rapt/insight/training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rapt/base/random.h"

namespace rapt::insight {
namespace {

TrainOptions optimizer_options(const TrainingOptions& o) {
  TrainOptions options;
  options.schedule = ScheduleKind::kConstant;
  options.lr = o.lr;
  options.warmup_steps = o.warmup_steps;
  options.clip_norm = o.clip_norm;
  options.label_smoothing = 0;
  return options;
}

// Makes the answer of a sentence.
void answer(std::vector<int32_t>& x, Task task) {
  switch (task) {
    case Task::kReverse:
      std::ranges::reverse(x);
      return;
    case Task::kSort:
      std::ranges::sort(x);
      return;
    case Task::kEcho:
      for (size_t i = x.size() - 1; i > 0; --i) x[i] = x[i] == 1 ? x[i - 1] : x[i];
  }
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

void TrainingOptions::validate() const {
  check_ranges(*this);
  check(d_model % heads == 0, "d_model is ", d_model, ", which heads ", heads,
        " do not divide; choose sizes that fit");
  check(sentences % batch == 0, "sentences is ", sentences, ", which is no multiple of batch, ",
        batch);
}

TaskBatch task_batch(const TrainingOptions& o, uint64_t seed, uint64_t first, size_t count) {
  const uint64_t key = op_key(seed, Stream::kSample, site_of("insight.task"), 0);
  TaskBatch batch;
  std::vector<Sequence> sentences;
  for (uint64_t id = first; id < first + count; ++id) {
    std::vector<int32_t> x(o.length);
    const int32_t least = o.task == Task::kEcho ? 1 : 0;
    for (uint32_t i = 0; i < o.length; ++i) {
      const double u = uniform(
          key, PhiloxBlock{static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32), i, 0});
      x[i] = least + static_cast<int32_t>(u * (static_cast<double>(o.symbols) - least));
    }
    if (o.task == Task::kEcho) x[0] = 0;
    batch.ids.insert(batch.ids.end(), x.begin(), x.end());
    answer(x, o.task);
    batch.answers.insert(batch.answers.end(), x.begin(), x.end());
    sentences.push_back({id, static_cast<uint32_t>(o.length), 0});
  }
  batch.sentences = Lengths(std::move(sentences));
  return batch;
}

TaskModel::TaskModel(const nn::LayerOptions& options, size_t layers, bool final_norm,
                     size_t symbols, uint64_t seed, bool causal)
    : parameters_(seed), causal_(causal) {
  const Scope root(parameters_);
  const auto width = static_cast<double>(options.d_model);
  const Weight& table = (root / "embedding")
                            .weight("weight", symbols, options.d_model,
                                    Init::normal(static_cast<float>(1 / std::sqrt(width))));
  embedding_.emplace(root / "embedding", table,
                     nn::PositionTable::sinusoidal(options.d_model, PositionLayout::kInterleaved),
                     static_cast<float>(std::sqrt(width)), /*dropout=*/0);
  encoder_.emplace(root / "encoder", layers, options, final_norm);
  // Small, so that the first loss is that of chance.
  const Init small = Init::normal(static_cast<float>(0.1 / std::sqrt(width)));
  const Scope output = root / "output";
  output_.emplace(output, output.weight("weight", symbols, options.d_model, small), nullptr);
}

std::unique_ptr<TaskModel> residual_model(const TrainingOptions& options, Residual residual,
                                          size_t layers, uint64_t seed) {
  nn::LayerOptions layer = options.layer();
  layer.residual = residual;
  if (residual == Residual::kDeepNorm) layer.deep_norm = nn::DeepNorm::alone(layers);
  const bool final_norm = residual != Residual::kNone && residual != Residual::kPlain;
  return std::make_unique<TaskModel>(layer, layers, final_norm, options.symbols, seed);
}

std::string describe(const TrainingOptions& o, const Setting& s) {
  const auto named = [&](std::string_view reverse, std::string_view sort, std::string_view echo) {
    return o.task == Task::kReverse ? reverse : o.task == Task::kSort ? sort : echo;
  };
  return s.say(concat("Task: ", named("reverse ", "sort ", "echo "), o.length, " of ", o.symbols,
                      " symbols; d_model ", o.d_model, ", ", o.heads, " heads, d_ff ", o.d_ff,
                      "; batches of ", o.batch, ", ", o.steps, " updates of Adam, learning rate ",
                      o.lr, ", warm-up ", o.warmup_steps),
               concat("과제: 기호 ", o.symbols, "종 중 ", o.length, "개를 ",
                      named("거꾸로 쓰기", "정렬하기", "메아리처럼 받아쓰기"), "; d_model ",
                      o.d_model, ", 헤드 ", o.heads, "개, d_ff ", o.d_ff, "; 배치 ", o.batch,
                      ", Adam 갱신 ", o.steps, "회, 학습률 ", o.lr, ", 워밍업 ", o.warmup_steps));
}

double mean_loss(const TaskModel& model, const TaskBatch& batch, Pool& pool) {
  Context ctx(Mode::kInference, pool);
  return static_cast<double>(model.loss(ctx, batch).nll.host()[0]) /
         static_cast<double>(batch.ids.size());
}

double held_out_loss(const TaskModel& model, const TrainingOptions& options, uint64_t seed,
                     size_t count, Pool& pool) {
  // No training counts as far as this.
  constexpr uint64_t kUnseen = uint64_t{1} << 40;
  return mean_loss(model, task_batch(options, seed, kUnseen, count), pool);
}

TaskTraining::TaskTraining(TaskModel& model, const TrainingOptions& options, uint64_t seed,
                           Pool& pool)
    : model_(model),
      options_(options),
      optimizer_options_(optimizer_options(options)),
      seed_(seed),
      ctx_(Mode::kTraining, pool, seed),
      gradient_(model.parameters()),
      optimizer_(model.parameters(), optimizer_options_),
      schedule_(optimizer_options_, options.steps) {}

TaskTraining::Step TaskTraining::step() {
  uint64_t first = step_ * options_.batch;
  if (options_.sentences > 0) first %= options_.sentences;
  const TaskBatch batch = task_batch(options_, seed_, first, options_.batch);
  const auto rows = static_cast<float>(batch.ids.size());
  Step result;
  ++step_;
  ctx_.clear(step_);
  gradient_.run(ctx_, 1, [&](size_t) {
    const ops::CrossEntropy loss = model_.loss(ctx_, batch);
    result.loss = static_cast<double>(loss.nll.host()[0] / rows);
    ctx_.backward(loss.objective, 1 / rows);
  });
  result.grad_norm = norm_of(gradient_.total(), ctx_.pool());
  result.finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
  if (result.finite) {
    optimizer_.update(gradient_.total(), result.grad_norm, schedule_.at(step_), step_, ctx_.pool());
    ctx_.commit();
  } else {
    gradient_.clear(ctx_.pool());
  }
  return result;
}

double Curve::end(size_t window) const {
  if (!finite) return std::numeric_limits<double>::infinity();
  return mean(std::span(loss).last(std::min(window, loss.size())));
}

std::optional<size_t> Curve::reaches(double wanted, size_t window) const {
  for (size_t step = window; step <= loss.size(); ++step) {
    if (mean(std::span(loss).subspan(step - window, window)) <= wanted) return step;
  }
  return std::nullopt;
}

Curve train(TaskModel& model, const TrainingOptions& options, uint64_t seed, Pool& pool) {
  TaskTraining training(model, options, seed, pool);
  Curve curve;
  for (uint64_t step = 0; step < options.steps && curve.finite; ++step) {
    const TaskTraining::Step result = training.step();
    curve.finite = result.finite;
    if (!result.finite) break;
    curve.loss.push_back(result.loss);
    curve.grad_norm.push_back(result.grad_norm);
  }
  return curve;
}

std::vector<Curve> train_all(size_t runs, const TrainingOptions& options, uint64_t seed,
                             const std::function<std::unique_ptr<TaskModel>(size_t)>& make,
                             Pool& pool) {
  std::vector<Curve> curves(runs);
  pool.run(runs, [&](size_t run) {
    const std::unique_ptr<TaskModel> model = make(run);
    curves[run] = train(*model, options, seed, pool);
  });
  return curves;
}

SmoothCurve smooth(const std::vector<double>& loss, size_t points) {
  SmoothCurve result;
  const size_t window = std::max<size_t>(1, (loss.size() + points - 1) / points);
  for (size_t begin = 0; begin < loss.size(); begin += window) {
    const size_t size = std::min(window, loss.size() - begin);
    result.step.push_back(static_cast<double>(begin) + static_cast<double>(size + 1) / 2);
    result.loss.push_back(mean(std::span(loss).subspan(begin, size)));
  }
  return result;
}

}  // namespace rapt::insight
