// Trainings of one model with different norms.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "rapt/insight/normalization.h"
#include "rapt/insight/normalized_stack.h"

namespace rapt::insight {

// No norm; LayerNorm; LayerNorm whose gamma stays 1 and whose beta stays 0; BatchNorm.
enum NormTraining : size_t { kWithout, kLayerNorm, kFixedLayerNorm, kBatchNorm, kNormTrainings };

// The trainings of one kind, from different first values.
struct NormTrainings {
  Curve curve;                   // its losses are means of the runs
  std::vector<double> held_out;  // of each run, nats a position
  std::vector<double> drift;     // of each layer's input and the last output, between two probes
  std::shared_ptr<TaskModel> model;  // of the first run

  // NaN when the loss is never reached.
  double updates(double loss) const;
};
using NormComparison = std::array<NormTrainings, kNormTrainings>;
NormComparison train_norms(const NormalizationOptions& options, const Setting& setting);
// The same at these multiples of the learning rate.
inline constexpr double kRates[] = {1, 3, 10};
std::vector<NormComparison> train_norms_at_rates(const NormalizationOptions& options,
                                                 const Setting& setting);
// Updates between two probes.
size_t probe_interval(const NormalizationOptions& options);

// gamma - 1 and beta of all norms of a model.
struct Affine {
  std::vector<double> gamma, beta;
};
Affine affine_of(const TaskModel& model);

// Held-out loss minus that of the training set, both as the model is used: BatchNorm by its running
// statistics. One value a training.
struct Gap {
  std::vector<double> training, held_out, gap;
};
inline constexpr size_t kGapBatches[] = {4, 16, 64};
struct BatchGaps {
  size_t batch;
  Gap layer, batch_norm;
};
std::vector<BatchGaps> train_gaps(const NormalizationOptions& options, const Setting& setting);

}  // namespace rapt::insight
