// Adam and AdamW over all parameters of a model, as kernels/adam.h has the formulas, with
//   clipping         by min(1, clip_norm / (norm + 1e-6)), norm: of all gradients together
//   running average  of the weights (Polyak and Juditsky, 1992), with d = min(ema_decay,
//                    (1 + t) / (10 + t)), so that the first, untrained weights are forgotten soon
// in one pass over memory, which also resets the gradient to zero.
#pragma once
#include <optional>

#include "rapt/train/options.h"
#include "rapt/train/parameter_block.h"

namespace rapt {

class Optimizer {
 public:
  // The average starts from the weights as they are. Borrows `parameters`.
  Optimizer(ParameterSet& parameters, const TrainOptions& options,
            MemoryPool& memory = MemoryPool::process());

  // Update t, from 1, with a learning rate. `norm` is that of the gradient, which is zero after.
  void update(const ParameterBlock& gradient, double norm, double lr, uint64_t t, Pool& pool) const;

  const ParameterBlock* average() const { return average_ ? &*average_ : nullptr; }
  // Exchanges the values of weights and average, where there is one; twice is nothing.
  void swap_average() const;

  // Moments as exp_avg.NAME and exp_avg_sq.NAME, PyTorch's words for them.
  void store(TensorMap& tensors) const;
  void load(const TensorMap& tensors, std::string_view file) const;  // throws IoError

 private:
  ParameterSet& parameters_;
  TrainOptions options_;
  ParameterBlock first_, second_;
  std::optional<ParameterBlock> average_;
};

double norm_of(const ParameterBlock& gradient, Pool& pool);  // NaN or infinite if a gradient is

}  // namespace rapt
