// Random arrays for the benchmarks of kernels.
#pragma once
#include <string_view>

#include "rapt/base/random.h"
#include "rapt/tensor/tensor.h"

namespace rapt::app::bench {

// Normal numbers that its name decides.
inline Tensor random_tensor(std::string_view name, Shape shape) {
  const Tensor x = Tensor::zeros(shape);
  fill_normal(x.host(), op_key(1, Stream::kSample, site_of(name), 0), 0, 1);
  return x;
}

}  // namespace rapt::app::bench
