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

TEST(Permuted, GivesManyItemsAsOneByOne) {
  for (const uint64_t n : {1, 2, 17, 257, 1000}) {
    const std::vector<uint64_t> all = order(n, 3);
    for (const uint64_t begin : {uint64_t{0}, n / 3}) {
      for (const uint64_t size : {uint64_t{0}, std::min<uint64_t>(n - begin, 5), n - begin}) {
        std::vector<uint64_t> items(size);
        permuted(begin, items, n, 3);
        EXPECT_TRUE(std::equal(items.begin(), items.end(), all.begin() + static_cast<long>(begin)));
      }
    }
  }
  std::vector<uint64_t> items(3);
  EXPECT_THROW(permuted(2, items, 4, 0), InvalidArgument);
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
