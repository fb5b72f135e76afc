#include "rapt/text/permutation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {

namespace {

class Network {
 public:
  // Halves of at least four bits: tiny networks reach few of the permutations.
  Network(uint64_t n, uint64_t key)
      : half_(std::max<uint64_t>(4, (static_cast<uint64_t>(std::bit_width(n - 1)) + 1) / 2)),
        key_(key) {}

  // Values that do not depend on each other go through it together: a round is a chain of
  // multiplications, which is long.
  template <size_t kLanes>
  void apply(std::array<uint64_t, kLanes>& values) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    constexpr uint32_t kRounds = 6;
    std::array<uint64_t, kLanes> left, right;
    for (size_t j = 0; j < kLanes; ++j) {
      left[j] = values[j] >> half_;
      right[j] = values[j] & mask;
    }
    for (uint32_t round = 0; round < kRounds; ++round) {
      for (size_t j = 0; j < kLanes; ++j) {
        const PhiloxBlock bits = philox({static_cast<uint32_t>(right[j]), round, 0, 0}, key_);
        left[j] ^= bits[0] & mask;
      }
      std::swap(left, right);
    }
    for (size_t j = 0; j < kLanes; ++j) values[j] = left[j] << half_ | right[j];
  }

 private:
  uint64_t half_, key_;
};

}  // namespace

uint64_t permuted(uint64_t i, uint64_t n, uint64_t key) {
  check(i < n, "permuted: item ", i, " of ", n);
  const Network network(n, key);
  std::array<uint64_t, 1> value = {i};
  do network.apply(value);
  while (value[0] >= n);
  return value[0];
}

void permuted(uint64_t begin, std::span<uint64_t> items, uint64_t n, uint64_t key) {
  check(items.size() <= n && begin <= n - items.size(), "permuted: items ", begin, " to ",
        begin + items.size(), " of ", n);
  if (items.empty()) return;
  const Network network(n, key);
  std::iota(items.begin(), items.end(), begin);
  std::vector<size_t> walking(items.size());  // places of values that are not below n yet
  std::iota(walking.begin(), walking.end(), size_t{0});
  constexpr size_t kLanes = 8;
  for (std::array<uint64_t, kLanes> values{}; !walking.empty();) {
    size_t kept = 0;
    for (size_t at = 0; at < walking.size(); at += kLanes) {
      const size_t lanes = std::min(kLanes, walking.size() - at);
      for (size_t j = 0; j < lanes; ++j) values[j] = items[walking[at + j]];
      network.apply(values);
      for (size_t j = 0; j < lanes; ++j) {
        const size_t place = walking[at + j];
        items[place] = values[j];
        if (values[j] >= n) walking[kept++] = place;
      }
    }
    walking.resize(kept);
  }
}

}  // namespace rapt
