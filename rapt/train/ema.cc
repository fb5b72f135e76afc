#include "rapt/train/ema.h"

#include <algorithm>

namespace rapt {

Ema::Ema(ParameterSet& parameters, double decay, MemoryPool& memory)
    : parameters_(parameters), decay_(decay), average_(parameters, memory) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::ranges::copy(parameters[i].value.span(), average_[i].span().begin());
  }
}

void Ema::update(uint64_t applied, Pool& pool) const {
  const auto t = static_cast<double>(applied);
  const auto step = static_cast<float>(1 - std::min(decay_, (1 + t) / (10 + t)));
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const float* w = parameters_[i].value.data();
    float* average = average_[i].data();
    for_element_blocks(average_[i].size(), pool, [&](size_t begin, size_t end) {
      for (size_t j = begin; j < end; ++j) average[j] += step * (w[j] - average[j]);
    });
  }
}

void Ema::swap() const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    std::ranges::swap_ranges(parameters_[i].value.span(), average_[i].span());
  }
}

}  // namespace rapt
