// One update: loss and gradient of its shards, the optimiser.
#pragma once
#include <optional>
#include <string>

#include "rapt/models/transformer.h"
#include "rapt/train/expert_use.h"
#include "rapt/train/gradients.h"
#include "rapt/train/optimizer.h"

namespace rapt {

struct StepResult {
  double nll = 0, objective = 0;        // nats, sums over the update's target tokens
  double grad_norm = 0;                 // before clipping
  std::vector<ExpertUse> experts = {};  // of each layer that has some; averages over target tokens
  // Set when the loss or the gradient was not finite: then nothing has changed, and this names the
  // first operation and parameter: "the loss is nan, first made by linear (value); of the
  // parameters, encoder.layers.0.linear1.weight is not finite".
  std::optional<std::string> fault;
};

class Stepper {
 public:
  // Borrows the model and the pool.
  Stepper(Transformer& model, const TrainOptions& options, Pool& pool,
          MemoryPool& memory = MemoryPool::process());

  // `step` counts from 1 and names the random bits of dropout; `applied` is the number of updates
  // that changed the weights, with this one.
  StepResult run(const Update& update, uint64_t step, uint64_t applied, double lr);

  const Optimizer& optimizer() const { return optimizer_; }
  Context& context() { return ctx_; }  // for a profiler

 private:
  void compute(Context& ctx, const Update& update, StepResult& result);
  std::string fault_of(const Update& update, uint64_t step, const StepResult& result);

  Transformer& model_;
  TrainOptions options_;
  Pool& pool_;
  Context ctx_;
  GradientSum gradient_;
  Optimizer optimizer_;
};

}  // namespace rapt
