#include "rapt/nn/positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "rapt/kernels/rotary_ref.h"
#include "rapt/testing/expect.h"

namespace rapt::nn {
namespace {

double interleaved(size_t t, size_t c, size_t d) {
  const double angle = static_cast<double>(t) *
                       std::pow(10000.0, -static_cast<double>(c / 2 * 2) / static_cast<double>(d));
  return c % 2 == 0 ? std::sin(angle) : std::cos(angle);
}
double halves(size_t t, size_t c, size_t d) {
  const size_t half = d / 2, i = c % half;
  const double angle = static_cast<double>(t) *
                       std::pow(10000.0, -static_cast<double>(i) / (static_cast<double>(half) - 1));
  return c < half ? std::sin(angle) : std::cos(angle);
}

TEST(Positions, AreTheSinusoidsOfTheirLayout) {
  Context ctx(Mode::kInference, testing::test_pool());
  for (const size_t d : {size_t{4}, size_t{6}, size_t{64}}) {
    const Var paper = PositionTable::sinusoidal(d, PositionLayout::kInterleaved)(ctx, 300);
    const Var fairseq = PositionTable::sinusoidal(d, PositionLayout::kHalves)(ctx, 300);
    ASSERT_GE(paper.rows(), 300u);
    for (size_t t = 0; t < 300; ++t) {
      for (size_t c = 0; c < d; ++c) {
        EXPECT_NEAR(paper.matrix().row(t)[c], interleaved(t, c, d), 1e-7);
        EXPECT_NEAR(fairseq.matrix().row(t)[c], halves(t, c, d), 1e-7);
      }
    }
  }
}

TEST(Positions, OddWidthsHaveOneSineMore) {
  std::vector<float> row(5);
  fill_sinusoids(row, 3, PositionLayout::kInterleaved);
  for (size_t c = 0; c < 5; ++c) EXPECT_NEAR(row[c], interleaved(3, c, 5), 1e-7);
  fill_sinusoids(row, 3, PositionLayout::kHalves);
  for (size_t c = 0; c < 4; ++c) EXPECT_NEAR(row[c], halves(3, c, 4), 1e-7);
  EXPECT_EQ(row[4], 0.0f);
}

TEST(Positions, AGrownTableKeepsItsBits) {
  Context ctx(Mode::kInference, testing::test_pool());
  const PositionTable table = PositionTable::sinusoidal(16, PositionLayout::kInterleaved);
  const Tensor small = table(ctx, 10).value();
  const Tensor large = table(ctx, 1000).value();
  ASSERT_GE(large.rows(), 1000u);
  testing::expect_same_bits(small.slice_rows(0, 10), large.slice_rows(0, 10));
  EXPECT_EQ(table(ctx, 5).value().data(), large.data());  // computed once
  EXPECT_TRUE(PositionTable().none());
}

TEST(Positions, LearnedOnesAreTheirParameter) {
  ParameterSet set(1);
  const Weight& weight = Scope(set).weight("weight", 12, 8, Init::normal(1));
  Context ctx(Mode::kEvaluation, testing::test_pool());
  const Var rows = PositionTable::learned(weight)(ctx, 3);
  EXPECT_EQ(rows.data(), weight.value.data());
  EXPECT_FALSE(rows.constant());
}

TEST(Positions, RotaryOnesTurnTheHeadsOfTheirLayout) {
  constexpr size_t kDim = 6, kHeads = 2;
  const Lengths rows({{1, 5, 0}, {2, 2, 200}});  // beyond the first rows of the table
  const Tensor x = testing::random_tensor({7, kHeads * kDim + 3}, 1);
  Context ctx(Mode::kInference, testing::test_pool());
  for (const auto layout : {PositionLayout::kInterleaved, PositionLayout::kHalves}) {
    const auto pairs = layout == PositionLayout::kHalves ? kernels::RotaryPairs::kHalves
                                                         : kernels::RotaryPairs::kNeighbours;
    const testing::Array<double> from = testing::to_array(x);
    testing::Array<double> expected = from;
    for (size_t r = 0; r < 7; ++r) {
      for (size_t h = 0; h < kHeads; ++h) {
        const auto head = from.row(r).subspan(h * kDim, kDim);
        std::ranges::copy(kernels::rotary_ref<double>(head, rows.key(r).position, 500, pairs),
                          &expected(r, h * kDim));
      }
    }
    const RotaryPositions rotary(kDim, 500, layout);
    testing::expect_near(rotary(ctx, Var(x), kHeads, rows).value(), expected, 1e-6);
  }
  EXPECT_TRUE(RotaryPositions().none());
}

// The slopes that Press et al. print, and for 12 heads their rule in their code's words.
TEST(Positions, SlopesOfAlibiAreThoseOfItsAuthors) {
  EXPECT_THAT(alibi_slopes(8), ::testing::ElementsAre(0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f,
                                                      0.015625f, 0.0078125f, 0.00390625f));
  EXPECT_THAT(alibi_slopes(1), ::testing::ElementsAre(0.00390625f));
  EXPECT_THAT(alibi_slopes(3), ::testing::ElementsAre(0.0625f, 0.00390625f, 0.25f));
  const std::vector<float> twelve = alibi_slopes(12), eight = alibi_slopes(8),
                           sixteen = alibi_slopes(16);
  ASSERT_EQ(twelve.size(), 12u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(twelve[i], eight[i]);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(twelve[8 + i], sixteen[2 * i]);
  EXPECT_NEAR(sixteen[0], 1 / std::sqrt(2.0), 1e-7);
}

}  // namespace
}  // namespace rapt::nn
