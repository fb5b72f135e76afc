// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), as in PyTorch:
//   g = scale gradient              (+ decay w            with adam)
//   m = beta1 m + (1 - beta1) g     v = beta2 v + (1 - beta2) g^2
//   w = w - lr m' / (sqrt(v') + eps)                      with m' = m / (1 - beta1^t), v' likewise
//   (w = w (1 - lr decay) before that, with adamw)
// `scale` clips: min(1, clip_norm / (norm + 1e-6)). One pass over memory, which also resets the
// gradient to zero.
#pragma once
#include "rapt/train/options.h"
#include "rapt/train/parameter_block.h"

namespace rapt {

class Optimizer {
 public:
  Optimizer(ParameterSet& parameters, const TrainOptions& options,
            MemoryPool& memory = MemoryPool::process());

  // Update t, from 1, with a learning rate. `norm` is that of the gradient, which is zero after.
  void update(const ParameterBlock& gradient, double norm, double lr, uint64_t t, Pool& pool) const;

  // Moments as exp_avg.NAME and exp_avg_sq.NAME, PyTorch's words for them.
  void store(TensorMap& tensors) const;
  void load(const TensorMap& tensors, std::string_view file) const;  // throws IoError

 private:
  ParameterSet& parameters_;
  TrainOptions options_;
  ParameterBlock first_, second_;
};

// The norm of all of a gradient, of one sum of squares with a fixed order.
double norm_of(const ParameterBlock& gradient, Pool& pool);

}  // namespace rapt
