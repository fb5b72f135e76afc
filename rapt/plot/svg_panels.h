// The panels of a figure as pieces of SVG that know their size; svg.cc puts them side by side.
#pragma once
#include <string_view>

#include "rapt/plot/figure.h"
#include "rapt/plot/svg_writer.h"

namespace rapt::plot {

// Pixels; the style sheet in svg.cc names the same sizes.
inline constexpr double kTitleSize = 13, kLabelSize = 11, kSmallSize = 9;
inline constexpr double kTitleHeight = 22, kAxisNameHeight = 20;

struct HeatStyle {
  Range range;                // of the colours
  bool small = false;         // one of many: small cells and labels
  bool row_labels = true;     // else another panel of the row shows them
  bool column_labels = true;  // else another panel of the column shows them
  bool axis_names = true;     // else the figure shows them
  bool hover = true;          // each cell tells its value under the pointer
};
Block draw(const HeatMap& map, const HeatStyle& style);

// What the colours mean: the scale with its marks and the label, about `height` high.
Block colour_legend(Range range, std::string_view label, double height);

struct ChartStyle {
  double width = 520, height = 260;  // of the area within the axes; bars take the height they need
};
Block draw(const Bars& bars, const ChartStyle& style);
Block draw(const LineChart& chart, const ChartStyle& style);

// Names with their signs, line by line where one does not suffice; empty for fewer than two.
enum class Sign { kBar, kLine, kDot };
struct LegendItem {
  std::string name;
  Sign sign;
};
Block series_legend(const std::vector<LegendItem>& items, double width);

// How many pixels a text takes at a font size, rather too many than too few.
double text_width(std::string_view text, double size);

}  // namespace rapt::plot
