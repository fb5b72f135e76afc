#include "rapt/plot/text.h"

#include <gmock/gmock.h>

#include <sstream>

#include "rapt/base/utf8.h"
#include "rapt/plot/examples.h"
#include "rapt/plot/label.h"

namespace rapt::plot {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string without_escapes(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(Text, KeepsItsWidthWhateverTheData) {
  for (const Figure& f : examples::all()) {
    for (const size_t width : {40, 80, 133}) {
      for (const bool colour : {false, true}) {
        for (const std::string& line : lines_of(to_text(f, {width, colour}))) {
          EXPECT_LE(columns_of(without_escapes(line)), width) << f.title << ": " << line;
          EXPECT_EQ(line.find('\x1b') != std::string::npos && !colour, false);
          EXPECT_THAT(line, Not(HasSubstr("nan"))) << f.title;
        }
      }
    }
  }
}

TEST(Text, HeatMapShadesByFifthsUnderItsLabels) {
  const HeatMap map{"weights",        "to",
                    "from",           {"a", "bc"},
                    {"x", "y", "한"}, {0, 0.3, 1, 0.5, 0.7, examples::kNaN},
                    "weight",         Range{0, 1}};
  EXPECT_EQ(to_text({.panels = {map}}),
            "weights\n"
            "   x y 한\n"
            " a   ░░██\n"
            "bc ▒▒▓▓··\n"
            "↓ to · → from\n"
            "weight: blank ≥ 0  ░░ ≥ 0.2  ▒▒ ≥ 0.4  ▓▓ ≥ 0.6  ██ ≥ 0.8\n");
}

TEST(Text, LongLabelsRunDownwardsOntoTheMatrix) {
  const HeatMap map{"", "", "", {"r"}, {"ab", "cde"}, {0, 1}, "", {}};
  EXPECT_EQ(lines_of(to_text({.panels = {map}}))[0], "    c");
  EXPECT_EQ(lines_of(to_text({.panels = {map}}))[1], "  a d");
  EXPECT_EQ(lines_of(to_text({.panels = {map}}))[2], "  b e");
  EXPECT_EQ(lines_of(to_text({.panels = {map}}))[3], "r   ██");
}

TEST(Text, WideHeatMapsGoOnBelow) {
  const auto labels = examples::numbered("", 50);
  const std::string text = to_text({.panels = {examples::attention({"line"}, labels)}}, {60});
  size_t rows = 0;
  for (const std::string& line : lines_of(text)) rows += line.starts_with("line") ? 1 : 0;
  EXPECT_EQ(rows, 2u);  // 28 columns, then 22
}

TEST(Text, PanelsStandSideBySideAndShareTheirLegend) {
  const std::string text = to_text(examples::heads(4, 2, {"a", "b"}));
  EXPECT_THAT(text, HasSubstr("head 1   head 2\n"));
  EXPECT_THAT(text, HasSubstr("head 3   head 4\n"));
  EXPECT_EQ(text.find("attention weight"), text.rfind("attention weight"));
}

TEST(Text, BarsAreCountedInEighths) {
  const Bars bars{"t", "", {"a", "bb"}, {{"", {8, 3.25}, {}, {}}}, {"v", "s", false, Range{0, 8}}};
  const auto lines = lines_of(to_text({.panels = {bars}}, {40}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "t: v (s)");
  // 40 - 2 (name) - 4 (number) - 3 = 31 columns for 8, so 3.25 takes 12 and 5 eighths (12.59).
  EXPECT_EQ(lines[1], "a  │" + repeat("█", 31) + " 8");
  EXPECT_EQ(lines[2], "bb │" + repeat("█", 12) + "▋" + std::string(18, ' ') + " 3.25");
}

TEST(Text, BarsGoBothWaysFromZero) {
  const Bars bars{"", "", {"a", "b"}, {{"", {-1, 1}, {}, {}}}, {"", "", false, Range{-1, 1}}};
  const auto lines = lines_of(to_text({.panels = {bars}}, {40}));
  const size_t minus = lines[0].find("█"), plus = lines[1].find("█");
  EXPECT_EQ(lines[0].substr(0, minus), "a │");
  EXPECT_GT(plus, minus + 10);
}

TEST(Text, BarsShowIntervals) {
  const std::string text = to_text({.panels = {examples::error_rates()}});
  EXPECT_THAT(text, HasSubstr("9.1 [8.8, 9.4]"));
  EXPECT_THAT(text, HasSubstr("no value"));
}

TEST(Text, LinesRunFromCornerToCorner) {
  const LineChart chart{"", {{"", {0, 1}, {0, 1}}}, {"x", "", false, {}}, {"y", "", false, {}}};
  const auto lines = lines_of(to_text({.panels = {chart}}, {40}));
  EXPECT_EQ(lines[0], "y");
  EXPECT_THAT(lines[1], testing::StartsWith("1.0 ┤"));
  // The last cell holds the upper right dot, the first cell of the lowest row the lower left one.
  const auto dots = [](std::string_view cell) { return utf8_decode(cell, 0).value - 0x2800; };
  EXPECT_NE(dots(std::string_view(lines[1]).substr(lines[1].size() - 3)) & 0x08, 0u);
  EXPECT_THAT(lines[12], testing::StartsWith("0.0 ┤"));
  EXPECT_NE(dots(std::string_view(lines[12]).substr(4 + 3)) & 0x40, 0u);
  EXPECT_THAT(lines[14], HasSubstr("0.0"));
  EXPECT_THAT(lines[14], HasSubstr("1.0"));
  EXPECT_EQ(lines.size(), 16u);
}

TEST(Text, SeveralLinesHaveMarksOrColours) {
  const Figure f{.panels = {examples::loss_curve()}};
  EXPECT_THAT(to_text(f), HasSubstr("* train   + validation"));
  EXPECT_THAT(to_text(f), Not(HasSubstr("⠤")));
  EXPECT_THAT(to_text(f, {80, true}), HasSubstr("\x1b[38;2;"));
}

TEST(Sparkline, RisesAndFalls) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 20), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(std::vector<double>{0, 0, 7, 7}, 2), "▁█");
  EXPECT_EQ(sparkline(std::vector<double>{1, examples::kNaN, 2}, 3), "▁ █");
  EXPECT_EQ(columns_of(sparkline(std::vector<double>(1000, 3.0), 30)), 30u);
  EXPECT_EQ(sparkline({}, 10), "");
}

}  // namespace
}  // namespace rapt::plot
