// The gradient of an update: that of its shards, each from zero, added by a fixed tree.
//   shards 0 … 4:  ((0 + 1) + (2 + 3)) + 4
// The tree depends on their number alone, so the bits do not depend on how the shards are spread
// over time, threads or, later, machines. Only the sums that are still open are held:
// 1 + log2(shards) gradients.
#pragma once
#include <vector>

#include "rapt/autograd/context.h"
#include "rapt/train/parameter_block.h"

namespace rapt {

class GradientSum {
 public:
  explicit GradientSum(const ParameterSet& parameters, MemoryPool& memory = MemoryPool::process());

  // add(s), for s = 0 … shards - 1, runs shard s forward and backward in `ctx`. The sum is in
  // total() afterwards, which must be zero before.
  void run(Context& ctx, size_t shards, FunctionRef<void(size_t)> add);

  const ParameterBlock& total() const { return blocks_[0]; }
  void clear(Pool& pool) const { total().clear(pool); }

 private:
  void merge_last(Pool& pool);

  MemoryPool& memory_;
  std::vector<ParameterBlock> blocks_;  // as many as ever were open at once; zero when not in use
  std::vector<size_t> open_;            // shards in blocks_[0], blocks_[1], …
};

}  // namespace rapt
