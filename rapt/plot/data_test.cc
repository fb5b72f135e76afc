#include "rapt/plot/data.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "rapt/plot/examples.h"
#include "rapt/plot/html.h"
#include "rapt/plot/svg.h"

namespace rapt::plot {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(Data, JsonHoldsEveryNumberExactly) {
  const HeatMap map = examples::attention({"a\"b", "<s>"}, {"x\n", "\xff", "한"});
  const Json json = Json::parse(to_json({.title = "t", .caption = "c", .panels = {map}}));
  EXPECT_EQ(json.at("title"), "t");
  EXPECT_EQ(json.at("caption"), "c");
  const Json& panel = json.at("panels").at(0);
  EXPECT_EQ(panel.at("kind"), "heat_map");
  EXPECT_EQ(panel.at("rows"), (Json{"a\"b", "<s>"}));
  EXPECT_EQ(panel.at("columns"), (Json{"x\n", "\uFFFD", "한"}));
  for (size_t r = 0; r < 2; ++r) {
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(panel.at("values")[r][c], map.values[3 * r + c]);
  }
}

TEST(Data, JsonOfChartsHoldsTheirMembers) {
  const Json json =
      Json::parse(to_json({.panels = {examples::error_rates(), examples::loss_curve()}}));
  const Json& bars = json.at("panels").at(0);
  EXPECT_EQ(bars.at("kind"), "bars");
  EXPECT_EQ(bars.at("value").at("unit"), "%");
  EXPECT_EQ(bars.at("series")[0].at("low")[1], 7.9);
  EXPECT_TRUE(bars.at("series")[1].at("values")[2].is_null());
  const Json& lines = json.at("panels").at(1);
  EXPECT_EQ(lines.at("kind"), "lines");
  EXPECT_EQ(lines.at("x").at("logarithmic"), true);
  EXPECT_EQ(lines.at("series")[0].at("x").size(), 3000u);
}

TEST(Data, JsonIsValidWhateverTheData) {
  for (const Figure& f : examples::all()) EXPECT_NO_THROW(Json::parse(to_json(f))) << f.title;
}

TEST(Data, CsvHasOneLineAValue) {
  const HeatMap map{"a,b", "", "", {"r\"1", "r2"}, {"c"}, {0.1, examples::kNaN}, "", {}};
  EXPECT_EQ(to_csv({.panels = {map}}),
            "panel,row,row_label,column,column_label,value\n"
            "\"a,b\",1,\"r\"\"1\",1,c,0.1\n"
            "\"a,b\",2,r2,1,c,\n");
  const Bars bars{"b", "", {"x"}, {{"s", {1.5}, {1}, {2}}}, {}};
  const LineChart lines{"l", {{"s", {1, 2}, {3, 4}, {2, 3}, {5, 6}}}, {}, {}};
  EXPECT_EQ(to_csv({.panels = {bars, lines}}),
            "panel,category,series,value,low,high\nb,x,s,1.5,1,2\n"
            "\npanel,series,x,y,low,high\nl,s,1,3,2,5\nl,s,2,4,3,6\n");
}

TEST(Html, HoldsThePictureAndItsDataAndNothingFromElsewhere) {
  const HeatMap map = examples::attention({"</script>", "b"}, {"x", "y"});
  const Figure f{.title = "A & B", .panels = {map}};
  const std::string html = to_html(f);
  EXPECT_THAT(html, HasSubstr("<title>A &amp; B</title>"));
  EXPECT_THAT(html, HasSubstr(to_svg(f)));
  const size_t begin = html.find('{', html.find("id=\"figure-data\""));
  const size_t end = html.find("</script>", begin);
  EXPECT_EQ(Json::parse(html.substr(begin, end - begin)).at("panels")[0].at("rows")[0],
            "</script>");
  EXPECT_THAT(html, Not(HasSubstr(" src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
}

}  // namespace
}  // namespace rapt::plot
