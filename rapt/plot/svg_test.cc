#include "rapt/plot/svg.h"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "rapt/base/check.h"
#include "rapt/plot/colour.h"
#include "rapt/plot/examples.h"
#include "rapt/plot/label.h"
#include "rapt/plot/svg_reader.h"

namespace rapt::plot {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Svg, IsWellFormedWhateverTheData) {
  for (const Figure& f : examples::all()) {
    for (const Theme theme : {Theme::kAuto, Theme::kLight, Theme::kDark}) {
      const std::string svg = to_svg(f, theme);
      ASSERT_NO_THROW(SvgReader{svg}) << f.title;
      EXPECT_THAT(svg, Not(HasSubstr("nan"))) << f.title;
      EXPECT_THAT(svg, Not(HasSubstr("inf"))) << f.title;
      EXPECT_THAT(svg, Not(HasSubstr("http-equiv"))) << f.title;
    }
  }
}

TEST(Svg, EscapesTextAndKeepsItText) {
  Figure f{.title = "a < b & \"c\" > 'd'",
           .panels = {examples::attention({"<s>", "\x01"}, {"&", "\xff"})}};
  const SvgReader svg(to_svg(f));
  EXPECT_EQ(svg.count_text("a < b & \"c\" > 'd'"), 1u);
  for (const char* label : {"<s>", "\\x01", "&", "\\xFF"})
    EXPECT_EQ(svg.count_text(label), 1u) << label;
}

TEST(Svg, HeatMapHasOneCellAValueAndOneLabelARowAndColumn) {
  const auto rows = examples::numbered("r", 7), columns = examples::numbered("c", 9);
  const SvgReader svg(to_svg({.panels = {examples::attention(rows, columns)}}));
  size_t cells = 0;
  for (const SvgElement& e : svg.named("title"))
    cells += e.text.find("→") != std::string::npos ? 1 : 0;
  EXPECT_EQ(cells, 63u);
  for (const auto& label : rows) EXPECT_EQ(svg.count_text(label), 1u) << label;
  for (const auto& label : columns) EXPECT_EQ(svg.count_text(label), 1u) << label;
  for (const char* name : {"target", "source", "attention weight", "cross-attention"}) {
    EXPECT_EQ(svg.count_text(name), 1u) << name;
  }
}

TEST(Svg, CellsTakeTheColourOfTheirValue) {
  const HeatMap map{"", "", "", {"a", "b"}, {"x", "y"}, {0, 1, 0.5, examples::kNaN}, "", {}};
  const SvgReader svg(to_svg({.panels = {map}}));
  const auto cell = [&](const std::string& says) {
    const SvgElement* last = nullptr;
    for (const SvgElement& e : svg.elements()) {
      if (e.name == "rect") last = &e;
      if (e.name == "title" && e.text == says) return last->attributes.at("class");
    }
    return std::string("missing");
  };
  EXPECT_EQ(cell("a → x: 0"), "v0");
  EXPECT_EQ(cell("a → y: 1"), "v63");
  EXPECT_EQ(cell("b → x: 0.5"), "v32");
  EXPECT_EQ(cell("b → y: no value"), "none");
}

TEST(Svg, ManyHeadsShareLabelsScaleAndLegend) {
  const SvgReader svg(to_svg(examples::heads(8, 4, {"a", "b", "c"})));
  EXPECT_EQ(svg.count_text("a"), 2u + 4u);  // rows of the first column, columns of the last row
  EXPECT_EQ(svg.count_text("target"), 1u);
  EXPECT_EQ(svg.count_text("source"), 1u);
  EXPECT_EQ(svg.count_text("attention weight"), 1u);
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(svg.count_text("head " + std::to_string(i)), 1u);
}

TEST(Svg, PanelsOfUnlikeScaleHaveALegendEach) {
  Figure f = examples::heads(2, 2, {"a", "b"});
  std::get<HeatMap>(f.panels[0]).range = Range{0, 1};
  EXPECT_EQ(SvgReader(to_svg(f)).count_text("attention weight"), 2u);
  f = examples::heads(2, 2, {"a", "b"});
  std::get<HeatMap>(f.panels[0]).values = {5, 5, 5, 9};
  f.shared_scale = false;
  EXPECT_EQ(SvgReader(to_svg(f)).count_text("attention weight"), 2u);
  f.shared_scale = true;
  EXPECT_EQ(SvgReader(to_svg(f)).count_text("attention weight"), 1u);
}

TEST(Svg, GreatFiguresMergeCellsOfOneColour) {
  HeatMap map = examples::attention(examples::numbered("r", 80), examples::numbered("c", 80));
  map.values.assign(map.values.size(), 0);
  map.values[80 * 40 + 40] = 1;
  const SvgReader svg(to_svg({.panels = {map}}));
  // 79 whole rows, three pieces of one, the ground, the frames and the scale.
  EXPECT_EQ(svg.named("rect").size(), 79u + 3 + 1 + 2 + kLevels);
}

TEST(Svg, BarsHaveTheLengthOfTheirValues) {
  const Bars bars{"", "", {"a", "b", "c"}, {{"s", {10, 5, -5}, {}, {}}}, {}};
  const SvgReader svg(to_svg({.panels = {bars}}));
  std::vector<SvgElement> drawn;
  for (const SvgElement& e : svg.named("rect")) {
    if (e.has_class("b0")) drawn.push_back(e);
  }
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_NEAR(drawn[0].number("width"), 2 * drawn[1].number("width"), 0.02);
  EXPECT_NEAR(drawn[1].number("width"), drawn[2].number("width"), 0.02);
  EXPECT_NEAR(drawn[2].number("x") + drawn[2].number("width"), drawn[1].number("x"), 0.02);
}

TEST(Svg, NumbersStandInTheirCellsAndNoLegendBesideThem) {
  const HeatMap map{"", "", "", {"a"}, {"x", "y"}, {0.125, 0.875}, "weight", Range{0, 1}, true};
  const SvgReader svg(to_svg({.panels = {map, map}}));
  EXPECT_EQ(svg.count_text("0.13"), 2u);
  EXPECT_EQ(svg.count_text("0.88"), 2u);
  EXPECT_EQ(svg.count_text("weight"), 0u);
  for (const SvgElement& e : svg.named("text")) {
    if (e.text.starts_with("0.")) EXPECT_EQ(e.has_class("over"), e.text == "0.88");
  }
}

TEST(Svg, PointsHaveTheirIntervalsAndMayStandAlone) {
  const LineChart chart{"", {{"k", {1, 2}, {5, 5}, {0, 5}, {10, 5}, false}}, {}, {}};
  const SvgReader svg(to_svg({.panels = {chart}}));
  EXPECT_TRUE(svg.named("path").empty());
  EXPECT_EQ(svg.named("circle").size(), 2u);
  std::vector<double> lengths;
  for (const SvgElement& e : svg.named("line")) {
    if (!e.has_class("interval") || e.number("x1") != e.number("x2")) continue;
    lengths.push_back(e.number("y1") - e.number("y2"));
  }
  ASSERT_EQ(lengths.size(), 2u);
  EXPECT_NEAR(lengths[0], 260, 0.01);  // the whole height of the area
  EXPECT_EQ(lengths[1], 0);
}

TEST(Svg, LinesBreakAtMissingValues) {
  const LineChart chart{"", {{"k", {1, 2, 3, 4}, {1, examples::kNaN, 2, 3}}}, {}, {}};
  const SvgReader svg(to_svg({.panels = {chart}}));
  const std::string path = svg.named("path").at(0).attributes.at("d");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 1);
  EXPECT_EQ(svg.named("circle").size(), 3u);
}

TEST(Svg, LongRunsStaySmallAndKeepTheirExtremes) {
  LineChart chart{"", {{"k", {}, {}}}, {}, {"", "", false, Range{0, 100}}};
  for (int i = 0; i < 200000; ++i) {
    chart.series[0].x.push_back(i);
    chart.series[0].y.push_back(i == 123456 ? 100 : 50);
  }
  const std::string svg = to_svg({.panels = {chart}});
  EXPECT_LT(svg.size(), 100000u);
  EXPECT_THAT(SvgReader(svg).named("path").at(0).attributes.at("d"), HasSubstr(" 4L"));  // the rim
}

TEST(Svg, ItsWidthIsFree) {
  const Figure f{.panels = {examples::error_rates()}};
  const SvgReader natural(to_svg(f)), wide(to_svg(f, Theme::kAuto, 1000));
  const SvgElement &a = natural.elements()[0], &b = wide.elements()[0];
  EXPECT_EQ(b.number("width"), 1000);
  EXPECT_NEAR(b.number("height") / b.number("width"), a.number("height") / a.number("width"), 1e-4);
  EXPECT_EQ(a.attributes.at("viewBox"), b.attributes.at("viewBox"));
}

TEST(Svg, ThemesDiffer) {
  const Figure f{.panels = {examples::error_rates()}};
  EXPECT_THAT(to_svg(f, Theme::kAuto), HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(to_svg(f, Theme::kLight), Not(HasSubstr("prefers-color-scheme")));
  EXPECT_THAT(to_svg(f, Theme::kLight), HasSubstr(hex(series_colour(0, false))));
  EXPECT_THAT(to_svg(f, Theme::kLight), Not(HasSubstr(hex(series_colour(0, true)))));
  EXPECT_THAT(to_svg(f, Theme::kDark), HasSubstr(hex(series_colour(0, true))));
  EXPECT_THAT(to_svg(f), HasSubstr("NanumGothic"));
}

TEST(Svg, RefusesDataThatDoNotFit) {
  Figure f{.panels = {HeatMap{.title = "w", .rows = {"a"}, .columns = {"x", "y"}, .values = {1}}}};
  EXPECT_THAT([&] { to_svg(f); }, testing::ThrowsMessage<InvalidArgument>(
                                      "plot: panel 1 'w' has 1 values for 1 rows and 2 columns"));
  f.panels = {LineChart{.series = {{"s", {1, 2}, {1}}}}};
  EXPECT_THROW(to_svg(f), InvalidArgument);
  f.panels = {LineChart{.series = {{"s", {1}, {1}, {0}, {}}}}};
  EXPECT_THROW(to_svg(f), InvalidArgument);
  f.panels = {Bars{.categories = {"a"}, .series = {{"s", {1}, {0}, {}}}}};
  EXPECT_THROW(to_svg(f), InvalidArgument);
  EXPECT_THROW(to_svg({.columns = 0}), InvalidArgument);
}

// The corners of a text, by the same estimate of its width that the drawing goes by.
using Corners = std::array<std::array<double, 2>, 4>;
Corners corners_of(const SvgElement& e) {
  const double size = e.has_class("small")   ? 9
                      : e.has_class("title") ? 13
                      : e.has_class("head")  ? 15
                                             : 11;
  const double width = em_width(e.text) * size;
  const auto anchor = e.attributes.find("text-anchor");
  const double start = anchor == e.attributes.end() ? 0
                       : anchor->second == "middle" ? -width / 2
                                                    : -width;
  const double x = e.attributes.contains("x") ? e.number("x") : 0;
  const double y = e.attributes.contains("y") ? e.number("y") : 0;
  const double c = std::cos(e.angle * M_PI / 180), s = std::sin(e.angle * M_PI / 180);
  Corners out;
  const double xs[] = {start, start + width}, ys[] = {-0.7 * size, 0.15 * size};
  for (size_t i = 0; i < 4; ++i) {
    const double px = x + xs[i == 1 || i == 2], py = y + ys[i / 2];
    out[i] = {e.x + c * px - s * py, e.y + s * px + c * py};
  }
  return out;
}

// Whether an axis along a side of `a` separates the two rectangles.
bool is_apart(const Corners& a, const Corners& b) {
  for (size_t i = 0; i < 4; ++i) {
    const double nx = a[(i + 1) % 4][1] - a[i][1], ny = a[i][0] - a[(i + 1) % 4][0];
    double a_low = 1e9, a_high = -1e9, b_low = 1e9, b_high = -1e9;
    for (size_t k = 0; k < 4; ++k) {
      const double pa = nx * a[k][0] + ny * a[k][1], pb = nx * b[k][0] + ny * b[k][1];
      a_low = std::min(a_low, pa), a_high = std::max(a_high, pa);
      b_low = std::min(b_low, pb), b_high = std::max(b_high, pb);
    }
    if (a_high <= b_low || b_high <= a_low) return true;
  }
  return false;
}

TEST(Svg, TextsNeitherOverlapNorLeaveThePicture) {
  for (const Figure& f : examples::all()) {
    const SvgReader svg(to_svg(f));
    const double width = svg.elements()[0].number("width");
    const double height = svg.elements()[0].number("height");
    std::vector<std::pair<std::string, Corners>> texts;
    for (const SvgElement& e : svg.named("text")) texts.push_back({e.text, corners_of(e)});
    for (size_t i = 0; i < texts.size(); ++i) {
      for (const auto& [x, y] : texts[i].second) {
        EXPECT_TRUE(x >= 0 && x <= width && y >= 0 && y <= height)
            << f.title << ": '" << texts[i].first << "' at " << x << ' ' << y;
      }
      for (size_t k = 0; k < i; ++k) {
        EXPECT_TRUE(is_apart(texts[i].second, texts[k].second) ||
                    is_apart(texts[k].second, texts[i].second))
            << f.title << ": '" << texts[i].first << "' over '" << texts[k].first << "'";
      }
    }
  }
}

}  // namespace
}  // namespace rapt::plot
