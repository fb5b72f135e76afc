#include "rapt/base/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "rapt/base/check.h"

namespace rapt {
namespace {

// Known answers of the authors' library (Random123, kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, SitesFollowFnv1a) {
  EXPECT_EQ(site_of(""), 0x811C9DC5u);
  EXPECT_EQ(site_of("a"), 0xE40C292Cu);
  EXPECT_EQ(site_of("foobar"), 0xBF9CF968u);
}

TEST(Philox, EveryPartOfAKeyAndOfACounterMatters) {
  std::set<uint64_t> keys;
  for (const uint64_t seed : {0, 1}) {
    for (const Stream stream :
         {Stream::kDropout, Stream::kInit, Stream::kShuffle, Stream::kSample}) {
      for (const uint32_t site : {0, 1}) {
        for (const uint64_t update : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
          keys.insert(op_key(seed, stream, site, update));
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 2u * 4 * 2 * 3);
  const RowKey row{(uint64_t{5} << 32) + 7, 9};
  EXPECT_EQ(draw_counter(3, row, 11), (PhiloxBlock{3, 9, 7, 5 << 16 | 11}));
}

TEST(DropRate, DropsTheAskedShareAndKeepsTheMean) {
  const DropRate rate = DropRate::of(0.1);
  size_t kept = 0;
  constexpr size_t kDraws = 100'000;
  for (uint32_t i = 0; i < kDraws; ++i) kept += rate.keeps(draw16(1, {0, i / 100}, i % 100));
  const double share = static_cast<double>(kept) / kDraws;
  EXPECT_NEAR(share, 0.9, 5 * 0.3 / std::sqrt(static_cast<double>(kDraws)));
  EXPECT_NEAR(rate.scale(), 1 / 0.9, 1e-4);
  EXPECT_TRUE(DropRate().keeps(-32768));
}

TEST(Lengths, NamesRowsBySentence) {
  const Lengths lengths({{7, 2, 0}, {8, 0, 0}, {9, 3, 4}});
  EXPECT_EQ(lengths.rows(), 5u);
  EXPECT_EQ(lengths.longest(), 3u);
  EXPECT_EQ(lengths.offset(2), 2u);
  EXPECT_EQ(lengths.key(1).id, 7u);
  EXPECT_EQ(lengths.key(2).id, 9u);
  EXPECT_EQ(lengths.key(4).position, 6u);
  std::vector<uint32_t> positions;
  lengths.for_each_key(1, 5, [&](size_t row, RowKey key) {
    EXPECT_EQ(key.id, lengths.key(row).id);
    positions.push_back(key.position);
  });
  EXPECT_EQ(positions, (std::vector<uint32_t>{1, 4, 5, 6}));
  EXPECT_THROW(Lengths({{uint64_t{1} << 48, 1, 0}}), InvalidArgument);
}

}  // namespace
}  // namespace rapt
