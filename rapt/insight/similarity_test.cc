#include "rapt/insight/similarity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

TEST(Similarity, HoldsAtEqualLengths) {
  const Measured m(similarity, SimilarityOptions{.draws = 2000});
  EXPECT_EQ(m["agreement_equal_lengths"], 100);
  // Lengths of normal vectors of 64 components differ by 1 / sqrt(2 * 64) of themselves.
  EXPECT_GT(m["agreement_drawn_lengths"], m["agreement_spread_lengths"]);
  EXPECT_LT(m["agreement_spread_lengths"], 95);
  EXPECT_DOUBLE_EQ(m["dot_long_at_60"], 2);  // 4 cos 60°
  EXPECT_DOUBLE_EQ(m["dot_unit_at_0"], 1);
  EXPECT_EQ(m.result.verdict, Verdict::kHoldsWhen);
}

TEST(Similarity, RefusesLengthsOutOfOrder) {
  Pool pool(1);
  EXPECT_THAT([&] { similarity({.longest = 1, .shortest = 2}, {pool}); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("--shortest is 2")));
}

}  // namespace
}  // namespace rapt::insight
