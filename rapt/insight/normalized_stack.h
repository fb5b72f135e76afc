// Small models that differ in their norm alone, and what their layers and sentences show.
#pragma once
#include <memory>
#include <vector>

#include "rapt/insight/training.h"

namespace rapt::insight {

// The model of TaskModel with y = Norm(x + f(x)) for any norm; none leaves x + f(x). The matrices of
// its layers are drawn `gain` times as large as usual.
struct NormedModel {
  NormKind norm = NormKind::kLayer;
  double eps = 1e-5, gain = 1;
  size_t layers = 3;
};
std::unique_ptr<TaskModel> make_model(const NormedModel& kind, const TrainingOptions& options,
                                      uint64_t seed);

// What the layers of a model read, and after them its last output; in training mode, so that
// BatchNorm takes the batch's own statistics.
std::vector<Tensor> layer_inputs(const TaskModel& model, const TaskBatch& batch, Pool& pool);

// By layer: the root mean square of what it reads and, one less, the norm of the gradient that
// reaches it, of the batch's mean loss.
struct StackProfile {
  std::vector<double> spread, gradient;
  double growth() const { return spread.back() / spread.front(); }
  double gradient_ratio() const { return gradient.front() / gradient.back(); }
};
StackProfile profile(const TaskModel& model, const TaskBatch& batch, Pool& pool);

// How far features drifted from one set of layer inputs to another, for each layer: with the mean m
// and the deviation s of each feature,
//   sqrt(sum (m' - m)^2 + (s' - s)^2) / sqrt(sum s^2)
std::vector<double> drift(const std::vector<Tensor>& before, const std::vector<Tensor>& after);

inline constexpr size_t kBatchSizes[] = {1, 2, 4, 8, 16, 32, 64};
// For each of these sizes: |y - y'| / |y|, where y and y' are one sentence's output among two sets
// of neighbours, at the root mean square over several sentences. Ragged neighbours have any length
// up to that of the options.
struct NeighbourOptions {
  Mode mode = Mode::kTraining;
  bool ragged = false;
};
std::vector<double> moved_by_neighbours(const TaskModel& model, const TrainingOptions& options,
                                        const NeighbourOptions& neighbours, uint64_t seed,
                                        Pool& pool);

}  // namespace rapt::insight
