// The sum of squares, in double: for the global norm of gradients. Infinite or NaN if any element
// is. Squares of floats are exact in double, so the order of addition alone makes the bits, and it is
// the same on every target and for any number of threads: blocks in order (sum_squares_block(n)
// elements each); in a block, element i joins lane i mod 16, and the lanes fold in halves.
#pragma once
#include <cstddef>
#include <span>

#include "rapt/parallel/pool.h"

namespace rapt::kernels {

inline constexpr size_t kMostSquareBlocks = 256;

constexpr size_t sum_squares_block(size_t n) {
  constexpr size_t kSmallest = size_t{1} << 14;
  const size_t even = (n + kMostSquareBlocks - 1) / kMostSquareBlocks;
  return even <= kSmallest ? kSmallest : (even + 15) / 16 * 16;
}

double sum_squares(std::span<const float> x, Pool& pool);

}  // namespace rapt::kernels
