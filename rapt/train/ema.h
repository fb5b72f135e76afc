// A running average of the weights (Polyak and Juditsky, 1992), used for validation and as the
// result: after update t, average += (1 - d) (w - average) with d = min(decay, (1 + t) / (10 + t)),
// so that the first, untrained weights are forgotten soon.
#pragma once
#include "rapt/train/parameter_block.h"

namespace rapt {

class Ema {
 public:
  // Starts from the weights as they are.
  Ema(ParameterSet& parameters, double decay, MemoryPool& memory = MemoryPool::process());

  void update(uint64_t applied, Pool& pool) const;  // applied: updates so far, from 1
  const ParameterBlock& average() const { return average_; }
  // Exchanges the values of weights and average; twice is nothing.
  void swap() const;

 private:
  ParameterSet& parameters_;
  double decay_;
  ParameterBlock average_;
};

}  // namespace rapt
