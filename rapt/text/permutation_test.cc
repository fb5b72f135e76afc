#include "rapt/text/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "rapt/base/check.h"

namespace rapt {
namespace {

std::vector<uint64_t> order(uint64_t n, uint64_t key) {
  std::vector<uint64_t> items;
  for (uint64_t i = 0; i < n; ++i) items.push_back(permuted(i, n, key));
  return items;
}

TEST(Permuted, MeetsEveryItemOnce) {
  for (const uint64_t n : {1, 2, 3, 15, 16, 17, 255, 256, 257, 1000, 4097, 70000}) {
    std::vector<uint64_t> items = order(n, 5 + n);
    std::sort(items.begin(), items.end());
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(items[i], i) << n;
  }
}

TEST(Permuted, StaysInsideALargeRange) {
  const uint64_t n = (uint64_t{1} << 40) + 12345;
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_LT(permuted(n - 1 - i, n, 3), n);
}

TEST(Permuted, DependsOnTheKey) {
  EXPECT_EQ(order(500, 1), order(500, 1));
  EXPECT_NE(order(500, 1), order(500, 2));
}

// Chi-squared of the 24 orders of four items over 4800 keys: 23 degrees of freedom, 99.9 % below 49.7.
// The keys are fixed, so this either always passes or shows a bias.
TEST(Permuted, ReachesAllOrdersOfFourEquallyOften) {
  std::map<std::vector<uint64_t>, double> seen;
  for (uint64_t key = 0; key < 4800; ++key) ++seen[order(4, key)];
  ASSERT_EQ(seen.size(), 24u);
  double chi = 0;
  for (const auto& [items, count] : seen) chi += (count - 200) * (count - 200) / 200;
  EXPECT_LT(chi, 49.7);
}

TEST(Permuted, RefusesItemsOutside) { EXPECT_THROW(permuted(3, 3, 0), InvalidArgument); }

}  // namespace
}  // namespace rapt
