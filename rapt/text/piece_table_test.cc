#include "rapt/text/piece_table.h"

#include <gtest/gtest.h>

#include <map>

#include "rapt/base/philox.h"

namespace rapt {
namespace {

// Every piece of up to nine bytes over two letters: short ones are their own keys, longer ones are
// hashed; many share their first and last letters.
std::vector<std::string> pieces() {
  std::vector<std::string> all;
  for (size_t size = 0; size < 18; size += size < 10 ? 1 : 7) {
    for (uint32_t bits = 0; bits < (1u << std::min<size_t>(size, 11)); ++bits) {
      std::string piece(size, 'a');
      for (size_t i = 0; i < size; ++i) piece[i] = (bits >> i % 11 & 1) != 0 ? '\0' : 'b';
      all.push_back(piece);
    }
  }
  return all;
}

TEST(PieceTable, NumbersPiecesInTheOrderOfArrival) {
  const std::vector<std::string> all = pieces();
  PieceTable table;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < all.size(); ++i) EXPECT_EQ(table.find(all[i]), std::nullopt);
    for (uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(table.add(all[i]), i);
    for (uint32_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(table.add(all[i]), i);
      ASSERT_EQ(table.find(all[i]), i);
      ASSERT_EQ(table.piece(i), all[i]);
    }
    EXPECT_EQ(table.size(), all.size());
    EXPECT_EQ(table.find("other"), std::nullopt);
    EXPECT_EQ(table.find("another one, longer"), std::nullopt);
    table.clear();
    EXPECT_EQ(table.size(), 0u);
  }
}

TEST(PieceCounts, CountAsAMapDoes) {
  const std::vector<std::string> all = pieces();
  std::map<std::string, uint64_t, std::less<>> expected;
  PieceCounts even, odd;
  for (uint32_t i = 0; i < 20000; ++i) {
    const std::string& piece = all[philox({i, 0, 0, 0}, 9)[0] % all.size()];
    ++expected[piece];
    (i % 2 == 0 ? even : odd).add(piece);
  }
  even.add(odd);
  ASSERT_EQ(even.size(), expected.size());
  for (uint32_t i = 0; i < even.size(); ++i) {
    EXPECT_EQ(even.count(i), expected.find(even.piece(i))->second);
  }
  even.clear();
  EXPECT_EQ(even.size(), 0u);
}

}  // namespace
}  // namespace rapt
