#include "rapt/insight/normalized_stack.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {
namespace {

double square(double v) { return v * v; }

double norm(const Tensor& x) { return std::sqrt(dot(x.host(), x.host())); }

// Calls f for what the first residual connection of each layer reads, or for its gradient.
template <class F>
void observe_layers(Context& ctx, std::string_view what, const F& f) {
  ctx.observe(
      [what = "residual1." + std::string(what), f](std::string_view name, const Tensor& value) {
        if (name.ends_with(what)) f(value);
      });
}

// Sentence `id` and count - 1 others from number `first` on.
TaskBatch with_neighbours(const TrainingOptions& options, bool ragged, uint64_t seed, uint64_t id,
                          uint64_t first, size_t count) {
  const uint64_t key = draw_key(seed, "normalization.length");
  TaskBatch all;
  std::vector<Sequence> sentences;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t number = i == 0 ? id : first + i;
    TrainingOptions o = options;
    if (i > 0 && ragged) {
      o.length = 1 + static_cast<size_t>(uniform(key, number) * static_cast<double>(o.length));
    }
    const TaskBatch one = task_batch(o, seed, number, 1);
    all.ids.insert(all.ids.end(), one.ids.begin(), one.ids.end());
    all.answers.insert(all.answers.end(), one.answers.begin(), one.answers.end());
    sentences.push_back(one.sentences[0]);
  }
  all.sentences = Lengths(std::move(sentences));
  return all;
}

// A feature's mean and deviation over the rows.
std::vector<std::pair<double, double>> features(const Tensor& x) {
  const auto n = static_cast<double>(x.rows());
  std::vector<std::pair<double, double>> all(x.cols());
  for (size_t c = 0; c < x.cols(); ++c) {
    double mean = 0, variance = 0;
    for (size_t r = 0; r < x.rows(); ++r) mean += static_cast<double>(x.matrix().row(r)[c]) / n;
    for (size_t r = 0; r < x.rows(); ++r) variance += square(x.matrix().row(r)[c] - mean) / n;
    all[c] = {mean, std::sqrt(variance)};
  }
  return all;
}

}  // namespace

std::unique_ptr<TaskModel> make_model(const NormedModel& kind, const TrainingOptions& options,
                                      uint64_t seed) {
  nn::LayerOptions layer = options.layer();
  layer.norm = kind.norm;
  layer.norm_eps = static_cast<float>(kind.eps);
  auto model = std::make_unique<TaskModel>(layer, kind.layers, true, options.symbols, seed);
  for (Weight* weight : model->parameters().weights()) {
    if (!weight->name.starts_with("encoder.")) continue;
    for (float& v : weight->value.host()) v *= static_cast<float>(kind.gain);
  }
  return model;
}

std::vector<Tensor> layer_inputs(const TaskModel& model, const TaskBatch& batch, Pool& pool) {
  Context ctx(Mode::kTraining, pool);
  std::vector<Tensor> inputs;
  observe_layers(ctx, "input", [&](const Tensor& x) { inputs.push_back(x); });
  inputs.push_back(model.encode(ctx, batch).value());
  return inputs;
}

StackProfile profile(const TaskModel& model, const TaskBatch& batch, Pool& pool) {
  StackProfile p;
  for (const Tensor& x : layer_inputs(model, batch, pool)) {
    p.spread.push_back(norm(x) / std::sqrt(static_cast<double>(x.size())));
  }
  Context ctx(Mode::kTraining, pool);
  observe_layers(ctx, "input.gradient", [&](const Tensor& dx) { p.gradient.push_back(norm(dx)); });
  ctx.backward(model.loss(ctx, batch).objective, 1 / static_cast<float>(batch.ids.size()));
  std::ranges::reverse(p.gradient);
  return p;
}

std::vector<double> drift(const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
  std::vector<double> drifts;
  for (size_t layer = 0; layer < before.size(); ++layer) {
    const auto old = features(before[layer]), now = features(after[layer]);
    double apart = 0, size = 0;
    for (size_t c = 0; c < old.size(); ++c) {
      apart += square(now[c].first - old[c].first) + square(now[c].second - old[c].second);
      size += square(old[c].second);
    }
    drifts.push_back(std::sqrt(apart / size));
  }
  return drifts;
}

std::vector<double> moved_by_neighbours(const TaskModel& model, const TrainingOptions& options,
                                        const NeighbourOptions& neighbours, uint64_t seed,
                                        Pool& pool) {
  constexpr size_t kSentences = 8;
  constexpr uint64_t kOthers = uint64_t{1} << 41;  // no training and no held-out set reaches them
  std::vector<double> moved;
  for (const size_t count : kBatchSizes) {
    double apart = 0, size = 0;
    for (uint64_t id = 0; id < kSentences; ++id) {
      const auto output = [&](uint64_t first) {
        Context ctx(neighbours.mode, pool);
        const TaskBatch batch =
            with_neighbours(options, neighbours.ragged, seed, kOthers + id, first, count);
        return model.encode(ctx, batch).value().slice_rows(0, options.length);
      };
      const Tensor y = output(2 * kOthers), other = output(3 * kOthers);
      for (size_t i = 0; i < y.size(); ++i) {
        apart += square(static_cast<double>(y.host()[i]) - static_cast<double>(other.host()[i]));
        size += square(y.host()[i]);
      }
    }
    moved.push_back(std::sqrt(apart / size));
  }
  return moved;
}

}  // namespace rapt::insight
