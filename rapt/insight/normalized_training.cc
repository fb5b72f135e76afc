#include "rapt/insight/normalized_training.h"

#include <algorithm>
#include <cmath>

#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

constexpr size_t kHeldOut = 256;        // sentences
constexpr size_t kProbeSentences = 64;  // whose passage shows the drift
constexpr uint64_t kProbe = uint64_t{1} << 42;

NormKind norm_of(size_t kind) {
  return kind == kWithout     ? NormKind::kNone
         : kind == kBatchNorm ? NormKind::kBatch
                              : NormKind::kLayer;
}

bool is_norm(const Parameter& parameter) {
  return parameter.name.find("norm") != std::string::npos;
}
bool is_gamma(const Parameter& parameter) { return parameter.name.ends_with(".weight"); }

void reset_norms(ParameterSet& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (is_norm(p)) std::ranges::fill(p.value.host(), is_gamma(p) ? 1.0f : 0.0f);
  }
}

struct Run {
  Curve curve;
  double held_out = 0;
  std::vector<double> drift;
  std::shared_ptr<TaskModel> model;
};

Run run_of(size_t kind, size_t repeat, const NormalizationOptions& o, const Setting& setting) {
  const NormedModel sizes{norm_of(kind), o.eps, 1, o.trained_layers};
  Run run;
  run.model = make_model(sizes, o.training, setting.seed + repeat);
  TaskTraining training(*run.model, o.training, setting.seed, setting.pool);
  const TaskBatch probe = task_batch(o.training, setting.seed, kProbe, kProbeSentences);
  std::vector<Tensor> before = layer_inputs(*run.model, probe, setting.pool);
  run.drift.assign(before.size(), 0.0);
  double probes = 0;
  for (uint64_t step = 1; step <= o.training.steps; ++step) {
    const TaskTraining::Step result = training.step();
    run.curve.finite = result.finite;
    if (!result.finite) break;
    run.curve.loss.push_back(result.loss);
    if (kind == kFixedLayerNorm) reset_norms(run.model->parameters());
    if (step % probe_interval(o) != 0) continue;
    std::vector<Tensor> now = layer_inputs(*run.model, probe, setting.pool);
    const std::vector<double> moved = drift(before, now);
    for (size_t layer = 0; layer < moved.size(); ++layer) run.drift[layer] += moved[layer];
    before = std::move(now);
    ++probes;
  }
  for (double& d : run.drift) d /= probes;
  run.held_out = held_out_loss(*run.model, o.training, setting.seed, kHeldOut, setting.pool);
  return run;
}

NormTrainings together(std::span<Run> runs) {
  NormTrainings all;
  const auto n = static_cast<double>(runs.size());
  const auto shortest = [](const Run& run) { return run.curve.loss.size(); };
  const size_t steps = std::ranges::min(runs, {}, shortest).curve.loss.size();
  all.curve.loss.assign(steps, 0.0);
  all.drift.assign(runs[0].drift.size(), 0.0);
  for (const Run& run : runs) {
    all.curve.finite = all.curve.finite && run.curve.finite;
    for (size_t i = 0; i < steps; ++i) all.curve.loss[i] += run.curve.loss[i] / n;
    for (size_t l = 0; l < run.drift.size(); ++l) all.drift[l] += run.drift[l] / n;
    all.held_out.push_back(run.held_out);
  }
  all.model = runs[0].model;
  return all;
}

}  // namespace

double NormTrainings::updates(double loss) const {
  const std::optional<size_t> step = curve.reaches(loss);
  return step ? static_cast<double>(*step) : NAN;
}

size_t probe_interval(const NormalizationOptions& options) {
  return std::max<size_t>(1, options.training.steps / 30);
}

NormComparison train_norms(const NormalizationOptions& o, const Setting& setting) {
  std::vector<Run> runs(kNormTrainings * o.repeats);
  setting.pool.run(runs.size(),
                   [&](size_t i) { runs[i] = run_of(i / o.repeats, i % o.repeats, o, setting); });
  NormComparison all;
  for (size_t kind = 0; kind < kNormTrainings; ++kind) {
    all[kind] = together(std::span(runs).subspan(kind * o.repeats, o.repeats));
  }
  return all;
}

std::vector<NormComparison> train_norms_at_rates(const NormalizationOptions& o,
                                                 const Setting& setting) {
  std::vector<NormComparison> all;
  for (const double rate : kRates) {
    NormalizationOptions at_rate = o;
    at_rate.training.lr *= rate;
    all.push_back(train_norms(at_rate, setting));
  }
  return all;
}

Affine affine_of(const TaskModel& model) {
  Affine affine;
  const ParameterSet& parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (!is_norm(p)) continue;
    for (const float v : p.value.host()) {
      if (is_gamma(p)) {
        affine.gamma.push_back(static_cast<double>(v) - 1);
      } else {
        affine.beta.push_back(v);
      }
    }
  }
  return affine;
}

std::vector<BatchGaps> train_gaps(const NormalizationOptions& o, const Setting& setting) {
  constexpr size_t kSizes = std::size(kGapBatches);
  struct Losses {
    double training, held_out;
  };
  std::vector<Losses> losses(2 * kSizes * o.repeats);  // by batch, norm and repeat
  setting.pool.run(losses.size(), [&](size_t i) {
    const size_t repeat = i % o.repeats, kind = i / o.repeats;
    TrainingOptions options = o.training;
    options.batch = kGapBatches[kind / 2];
    options.sentences = o.set_sentences;
    const NormKind norm = kind % 2 == 0 ? NormKind::kLayer : NormKind::kBatch;
    const auto model =
        make_model({norm, o.eps, 1, o.trained_layers}, options, setting.seed + repeat);
    train(*model, options, setting.seed, setting.pool);
    const TaskBatch set = task_batch(options, setting.seed, 0, options.sentences);
    losses[i] = {mean_loss(*model, set, setting.pool),
                 held_out_loss(*model, options, setting.seed, kHeldOut, setting.pool)};
  });
  std::vector<BatchGaps> gaps;
  for (const size_t batch : kGapBatches) gaps.push_back({batch, {}, {}});
  for (size_t i = 0; i < losses.size(); ++i) {
    const size_t kind = i / o.repeats;
    Gap& gap = kind % 2 == 0 ? gaps[kind / 2].layer : gaps[kind / 2].batch_norm;
    gap.training.push_back(losses[i].training);
    gap.held_out.push_back(losses[i].held_out);
    gap.gap.push_back(losses[i].held_out - losses[i].training);
  }
  return gaps;
}

}  // namespace rapt::insight
