// What a picture shows, apart from how: a figure is a grid of panels, each a heat map, bars or
// lines over plain data. svg.h, text.h, html.h and data.h turn the same figure into vector
// graphics, Unicode for a terminal, a page, and CSV or JSON.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rapt::plot {

struct Range {
  double low = 0, high = 1;
  bool operator==(const Range&) const = default;
};

// Every member has a default, so that designated initialisers may leave it out.
struct Axis {
  std::string label = {};           // "sentence length"
  std::string unit = {};            // shown behind the label: "time (s)"
  bool logarithmic = false;         // values that are not positive are left out
  std::optional<Range> range = {};  // else from the data
};

// A matrix of values between tokens on two named axes, such as attention weights.
struct HeatMap {
  std::string title = {};
  std::string row_axis = {}, column_axis = {};       // "query", "key"
  std::vector<std::string> rows = {}, columns = {};  // labels, one a row and one a column
  std::vector<double> values = {};                   // [rows, columns]; NaN is drawn as missing
  std::string value_label = {};                      // what the colours mean, with its unit
  std::optional<Range> range = {};                   // else from the data
  bool numbers = false;                              // written in the cells, instead of a legend
};

// One value a category, NaN where there is none; with `low` and `high` an interval.
struct BarSeries {
  std::string name = {};
  std::vector<double> values = {}, low = {}, high = {};
};
struct Bars {
  std::string title = {};
  std::string category_axis = {};
  std::vector<std::string> categories = {};
  std::vector<BarSeries> series = {};
  Axis value = {};
};

// NaN interrupts the line; with `low` and `high` each point has an interval.
struct LineSeries {
  std::string name = {};
  std::vector<double> x = {}, y = {}, low = {}, high = {};
  bool joined = true;  // else points alone
};
struct LineChart {
  std::string title = {};
  std::vector<LineSeries> series = {};
  Axis x = {}, y = {};
};

using Panel = std::variant<HeatMap, Bars, LineChart>;

struct Figure {
  std::string title = {}, caption = {};
  std::vector<Panel> panels = {};
  size_t columns = 1;        // of the grid, filled row by row
  bool shared_scale = true;  // heat maps without a range of their own share one
};

// Throws InvalidArgument, naming panel and sizes, when labels and values do not fit together.
void check_figure(const Figure& figure);

const std::string& title_of(const Panel& panel);
std::string axis_title(const Axis& axis);  // "label (unit)"

// The least range that holds the finite values; {0, 1} when there are none, and made wider than
// nothing when they are all alike. With `positive`, of the positive values.
Range range_of(const std::vector<const std::vector<double>*>& values, bool positive = false);

// The range that each heat map's colours span; {0, 1} for other panels.
std::vector<Range> colour_ranges(const Figure& figure);

// Whether all panels are heat maps with the same labels, so that these may stand at the rim of the
// grid alone.
bool labels_are_shared(const Figure& figure);

}  // namespace rapt::plot
