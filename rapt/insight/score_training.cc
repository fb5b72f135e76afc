#include "rapt/insight/score_training.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {
namespace {

constexpr float kSaturated = 0.99f;

// The rows of in_proj_weight that give queries and keys, or of its gradient.
std::span<float> query_and_key_rows(const Tensor& in_proj, const TrainingOptions& o, size_t d_k) {
  return in_proj.host().first(2 * o.heads * d_k * o.d_model);
}

template <class F>
void for_each_projection(const TaskModel& model, const F& f) {
  const ParameterSet& parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name.ends_with("in_proj_weight")) f(parameters[i]);
  }
}

std::unique_ptr<TaskModel> model_of(const ScoreRun& run, const TrainingOptions& o, size_t layers,
                                    uint64_t seed) {
  nn::LayerOptions layer = o.layer();
  layer.d_k = run.d_k;
  layer.score = run.scaled ? ScoreKind::kScaledDot : ScoreKind::kDot;
  auto model = std::make_unique<TaskModel>(layer, layers, /*final_norm=*/true, o.symbols, seed);
  if (!run.unit) return model;
  for_each_projection(*model, [&](const Parameter& p) {
    fill_normal(query_and_key_rows(p.value, o, run.d_k), draw_key(seed, p.name), 0,
                1 / std::sqrt(static_cast<double>(o.d_model)));
  });
  return model;
}

void look_at_start(ScoreRun& run, const TaskModel& model, const TrainingOptions& o, uint64_t seed,
                   Pool& pool) {
  const TaskBatch batch = task_batch(o, seed, 0, o.batch);
  Context ctx(Mode::kEvaluation, pool);
  size_t rows = 0, saturated = 0;
  ctx.observe([&](std::string_view name, const Tensor& value) {
    if (!name.ends_with(".weights")) return;
    for (size_t begin = 0; begin < value.size(); begin += o.length, ++rows) {
      const auto row = value.host().subspan(begin, o.length);
      if (*std::ranges::max_element(row) > kSaturated) ++saturated;
    }
  });
  ctx.backward(model.loss(ctx, batch).objective, 1 / static_cast<float>(batch.ids.size()));
  run.saturated = static_cast<double>(saturated) / static_cast<double>(rows);
  double squares = 0;
  for_each_projection(model, [&](const Parameter& p) {
    const std::span<float> g = query_and_key_rows(ctx.gradient(p.value), o, run.d_k);
    squares += dot(g, g);
  });
  run.gradient = std::sqrt(squares);
}

}  // namespace

std::vector<ScoreRun> train_scores(const TrainingOptions& o, size_t layers,
                                   const std::vector<size_t>& d_ks, uint64_t seed, Pool& pool) {
  std::vector<ScoreRun> runs;
  for (const size_t d_k : d_ks) {
    for (const bool unit : {false, true}) {
      for (const bool scaled : {true, false}) runs.push_back({d_k, unit, scaled});
    }
  }
  pool.run(runs.size(), [&](size_t i) {
    ScoreRun& run = runs[i];
    const auto model = model_of(run, o, layers, seed);
    look_at_start(run, *model, o, seed, pool);
    run.curve = train(*model, o, seed, pool);
  });
  return runs;
}

}  // namespace rapt::insight
