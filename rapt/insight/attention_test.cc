#include "rapt/insight/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

double number(const Cell& cell) { return std::get<double>(cell.value); }

const Table& table(const Result& result, std::string_view name) {
  return *std::ranges::find(result.tables, name, &Table::name);
}

TEST(Attention, IsWhatOneComputesByHand) {
  const Measured m(attention, AttentionOptions{});
  EXPECT_LT(m["sum_error"], 1e-15);
  EXPECT_LT(m["kernel_difference"], 1e-6);
  // The query of "sleeps" (4 0 0 1) meets the keys (0 0 0 2), (0 2 0 0), (2 0 0 0), (0 0 2 0):
  // scores 2 0 8 0, halved 1 0 4 0.
  const double sum = std::exp(1) + 1 + std::exp(4) + 1;
  EXPECT_NEAR(m["last_word_greatest_weight"], std::exp(4) / sum, 1e-14);
  const Table& scores = table(m.result, "scores");
  EXPECT_EQ(number(scores.rows[0][4]), 2);
  EXPECT_EQ(number(scores.rows[2][4]), 8);
  const Table& output = table(m.result, "output");
  EXPECT_NEAR(number(output.rows[0][4]), (0 * std::exp(1) + 2 + 4 * std::exp(4) + 0) / sum, 1e-14);
  EXPECT_NEAR(number(output.rows[1][4]), (1 * std::exp(1) + 0 + 2 * std::exp(4) + 4) / sum, 1e-14);
  const Table& weights = table(m.result, "weights");
  for (size_t c = 1; c <= 4; ++c) EXPECT_NEAR(number(weights.rows[4][c]), 1, 1e-15);
}

TEST(Attention, RowsAreTheTransposedColumns) {
  Pool pool(1);
  const Result columns = attention({}, {pool});
  const Result rows = attention({.orientation = Orientation::kRows}, {pool});
  EXPECT_EQ(columns.numbers, rows.numbers);
  for (size_t t = 0; t < columns.tables.size(); ++t) {
    const Table &a = columns.tables[t], &b = rows.tables[t];
    for (size_t r = 0; r < a.rows.size(); ++r) {
      for (size_t c = 1; c < a.columns.size(); ++c) {
        EXPECT_EQ(number(a.rows[r][c]), number(b.rows[c - 1][r + 1])) << a.name;
      }
    }
  }
}

TEST(Attention, TakesWordsOfOnesOwn) {
  const Measured m(attention, AttentionOptions{.input = "나는  학교에 나는", .d_k = 3, .d_v = 5});
  EXPECT_EQ(m["words"], 3);
  EXPECT_LT(m["kernel_difference"], 1e-5);
  const Table& queries = table(m.result, "queries");
  ASSERT_EQ(queries.rows.size(), 3u);
  for (const auto& row : queries.rows) {  // the same word twice
    EXPECT_EQ(number(row[1]), number(row[3]));
    EXPECT_LE(std::fabs(number(row[2])), 2);
  }
}

TEST(Attention, RefusesWhatIsNoSentence) {
  Pool pool(1);
  for (const char* input : {"  ", "a b c d e f g h i j k l m"}) {
    EXPECT_THAT([&] { attention({.input = input}, {pool}); },
                testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("expected 1 to 12")));
  }
}

}  // namespace
}  // namespace rapt::insight
