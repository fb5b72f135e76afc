// A bounded identity (docs/math/tanh.md): y = c tanh(x / c), which is x near 0 and stays in (-c, c).
//   dx = dy (1 - (y / c)^2)
// With c = 1 it is tanh.
#pragma once
#include <span>

#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// y may alias x, dx may alias dy.
void tanh(std::span<const float> x, float bound, std::span<float> y, Pool& pool);
void tanh_backward(std::span<const float> y, float bound, std::span<const float> dy,
                   std::span<float> dx, Pool& pool);

}  // namespace rapt::kernels
