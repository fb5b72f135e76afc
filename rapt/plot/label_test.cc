#include "rapt/plot/label.h"

#include <gtest/gtest.h>

namespace rapt::plot {
namespace {

TEST(Label, CountsColumns) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("한국어"), 6u);
  EXPECT_EQ(columns_of("日本"), 4u);
  EXPECT_EQ(columns_of("größe"), 5u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(columns_of("\u1112\u1161\u11ab"), 2u);  // decomposed Hangul: one syllable
  EXPECT_EQ(columns_of("😀"), 2u);
  EXPECT_EQ(columns_of("▁the"), 4u);
  EXPECT_EQ(columns_of("░▒▓█⣿"), 5u);
  EXPECT_EQ(columns_of(""), 0u);
}

TEST(Label, CutsAtColumns) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdef", 4), "abc…");
  EXPECT_EQ(cut("한국어", 5), "한국…");
  EXPECT_EQ(cut("한국어", 4), "한…");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(cut("abc", 1), "…");
}

TEST(Label, PadsToColumns) {
  EXPECT_EQ(pad_right("한", 4), "한  ");
  EXPECT_EQ(pad_left("한", 4), "  한");
  EXPECT_EQ(centre("ab", 5), " ab  ");
  for (size_t width = 0; width < 12; ++width) {
    for (const char* text : {"", "a", "한국어", "transformer"}) {
      EXPECT_EQ(columns_of(pad_right(text, width)), width) << text;
      EXPECT_EQ(columns_of(pad_left(text, width)), width) << text;
      EXPECT_EQ(columns_of(centre(text, width)), width) << text;
    }
  }
}

TEST(Label, IsVisible) {
  EXPECT_EQ(visible(""), "␣");
  EXPECT_EQ(visible(" "), "␣");
  EXPECT_EQ(visible("\n"), "\\n");
  EXPECT_EQ(visible("\xff"), "\\xFF");
  EXPECT_EQ(visible("a b"), "a b");
}

TEST(Label, WideTextIsWider) {
  EXPECT_GT(em_width("mmm"), em_width("iii"));
  EXPECT_NEAR(em_width("한국어"), 3, 1e-9);
  EXPECT_EQ(em_width("e\u0301"), em_width("e"));
}

}  // namespace
}  // namespace rapt::plot
