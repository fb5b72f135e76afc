#include "rapt/train/gradients.h"

namespace rapt {

GradientSum::GradientSum(const ParameterSet& parameters, MemoryPool& memory) : memory_(memory) {
  blocks_.emplace_back(parameters, memory);
}

void GradientSum::run(Context& ctx, size_t shards, FunctionRef<void(size_t)> add) {
  const ParameterSet& parameters = blocks_[0].parameters();
  for (size_t s = 0; s < shards; ++s) {
    if (open_.size() == blocks_.size()) blocks_.emplace_back(parameters, memory_);
    const ParameterBlock& block = blocks_[open_.size()];
    ctx.clear();
    for (size_t i = 0; i < parameters.size(); ++i) ctx.bind(parameters[i].value, block[i]);
    add(s);
    open_.push_back(1);
    while (open_.size() > 1 && open_.back() == open_[open_.size() - 2]) merge_last(ctx.pool());
  }
  while (open_.size() > 1) merge_last(ctx.pool());
  open_.clear();
}

void GradientSum::merge_last(Pool& pool) {
  const size_t last = open_.size() - 1;
  float *sum = blocks_[last - 1].all().data(), *part = blocks_[last].all().data();
  for_element_blocks(blocks_[0].all().size(), pool, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      sum[i] += part[i];
      part[i] = 0;
    }
  });
  open_[last - 1] += open_[last];
  open_.pop_back();
}

}  // namespace rapt
