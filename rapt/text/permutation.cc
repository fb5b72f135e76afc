#include "rapt/text/permutation.h"

#include <algorithm>
#include <bit>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {

uint64_t permuted(uint64_t i, uint64_t n, uint64_t key) {
  check(i < n, "permuted: item ", i, " of ", n);
  // Halves of at least four bits: tiny networks reach few of the permutations.
  const auto half = std::max<uint64_t>(4, (std::bit_width(n - 1) + 1) / 2);
  const uint64_t mask = (uint64_t{1} << half) - 1;
  constexpr uint32_t kRounds = 6;
  do {
    uint64_t left = i >> half, right = i & mask;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const PhiloxBlock bits = philox({static_cast<uint32_t>(right), round, 0, 0}, key);
      left ^= bits[0] & mask;
      std::swap(left, right);
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

}  // namespace rapt
