// What this machine can do at best, for benchmarks to compare with: loops of fused multiply-adds
// that stay in registers, and copies with vector loads and stores.
#pragma once
#include <cstddef>
#include <span>

namespace rapt::kernels {

// `rounds` times 12 independent multiply-adds of whole vectors. Returns the floating-point
// operations, two for each multiply-add.
double multiply_adds(size_t rounds);

// to[i] = from[i]; equal sizes.
void copy(std::span<const float> from, std::span<float> to);

}  // namespace rapt::kernels
