// Sums and multiples, element by element.
#pragma once
#include <span>

#include "rapt/parallel/pool.h"

namespace rapt::kernels {

void add(std::span<const float> a, std::span<const float> b, std::span<float> y, Pool& pool);
void scale(std::span<const float> x, float factor, std::span<float> y, Pool& pool);

}  // namespace rapt::kernels
